import { describe, expect, it } from "vitest";
import { errorPath, partsOf } from "./breakdown";

describe("partsOf", () => {
  it("the most frequent first", () => {
    expect(partsOf({ a: 1, b: 3 }, 5, true).map(({ name }) => name)).toEqual(["b", "a"]);
  });

  it("depths stay in their order", () => {
    expect(partsOf({ 0: 1, 1: 9, 2: 3 }, 5, false).map(({ name }) => name)).toEqual(["0", "1", "2"]);
  });

  it("the rest is one line that says of how many", () => {
    expect(partsOf({ a: 5, b: 4, c: 3, d: 2 }, 2, true)).toEqual([
      { name: "a", count: 5 },
      { name: "b", count: 4 },
      { name: "others", count: 5, rest: 2 },
    ]);
    expect(partsOf({ a: 5, b: 4, c: 3 }, 2, true)).toHaveLength(3);
  });
});

it.each([
  ["not_found", "/crawls/7/urls?state=not_found"],
  ["forbidden", "/crawls/7/urls?state=forbidden"],
  ["http_5xx", "/crawls/7/urls?reason=http_5xx"],
  ["timeout", "/crawls/7/urls?reason=timeout"],
])("errorPath %s", (kind, path) => expect(errorPath("7", kind)).toBe(path));

it("errorPath of what pages need", () => {
  expect(errorPath("7", "not_found", "requisite")).toBe("/crawls/7/urls?kind=requisite&state=not_found");
});
