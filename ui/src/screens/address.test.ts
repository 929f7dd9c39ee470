import { expect, it } from "vitest";
import { hostPath, inspectorOf, withParameters } from "./address";

it.each([
  ["a=1", { b: "2" }, "a=1&b=2"],
  ["a=1&after=x", { a: "3", after: null }, "a=3"],
  ["text=x", { text: "" }, ""],
])("%s", (before, changes, after) => {
  expect(withParameters(new URLSearchParams(before), changes).toString()).toBe(after);
});

it("leads to the inspector", () => expect(inspectorOf(7, 71)).toBe("/crawls/7/urls?inspect=71"));

it("a host is one segment of a path, whatever is in it", () => {
  expect(hostPath("[::1]:8080")).toBe("/hosts/%5B%3A%3A1%5D%3A8080");
  expect(hostPath("a/../b")).toBe("/hosts/a%2F..%2Fb");
});
