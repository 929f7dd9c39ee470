import { expect, it } from "vitest";
import { inspectorOf, withParameters } from "./address";

it.each([
  ["a=1", { b: "2" }, "a=1&b=2"],
  ["a=1&after=x", { a: "3", after: null }, "a=3"],
  ["text=x", { text: "" }, ""],
])("%s", (before, changes, after) => {
  expect(withParameters(new URLSearchParams(before), changes).toString()).toBe(after);
});

it("leads to the inspector", () => expect(inspectorOf(7, 71)).toBe("/crawls/7/urls?inspect=71"));
