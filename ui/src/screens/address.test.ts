import { expect, it } from "vitest";
import { withParameters } from "./address";

it.each([
  ["a=1", { b: "2" }, "a=1&b=2"],
  ["a=1&after=x", { a: "3", after: null }, "a=3"],
  ["text=x", { text: "" }, ""],
])("%s", (before, changes, after) => {
  expect(withParameters(new URLSearchParams(before), changes).toString()).toBe(after);
});
