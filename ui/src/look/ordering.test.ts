import { describe, expect, it, vi } from "vitest";
import { afterHeading, inOrder, orderingOf, readOrder } from "./ordering";

const FIRST = { host: "asc", requests: "desc" } as const;
const USUAL = { sort: "host", order: "asc" } as const;
type Sort = keyof typeof FIRST;

describe("a heading", () => {
  it.each([
    [
      "another column begins with its own order",
      { sort: "requests", order: "desc" },
      USUAL,
      { sort: "requests", order: "desc" },
    ],
    [
      "then the other way",
      { sort: "requests", order: "desc" },
      { sort: "requests", order: "desc" },
      { sort: "requests", order: "asc" },
    ],
    ["then the usual order", { sort: "requests", order: "desc" }, { sort: "requests", order: "asc" }, USUAL],
    ["the usual column turns round", USUAL, USUAL, { sort: "host", order: "desc" }],
    ["and back", USUAL, { sort: "host", order: "desc" }, USUAL],
  ] as const)("%s", (_, heading, now, next) => {
    expect(afterHeading<Sort>(heading, now, USUAL)).toEqual(next);
  });

  it("refuses all but the usual order where the list is too long", () => {
    const go = vi.fn();
    const ordering = orderingOf<Sort>(USUAL, USUAL, FIRST, go, "too many");
    expect([ordering.refuses("host"), ordering.refuses("requests")]).toEqual(["", "too many"]);
    ordering.choose("nonsense");
    expect(go).not.toHaveBeenCalled();
  });
});

it.each([
  ["", { ...USUAL, wrong: [] }],
  ["sort=requests", { sort: "requests", order: "desc", wrong: [] }],
  ["sort=requests&order=asc", { sort: "requests", order: "asc", wrong: [] }],
  ["sort=bogus", { ...USUAL, wrong: ["sort: “bogus” is none of host, requests"] }],
  ["sort=constructor", { ...USUAL, wrong: ["sort: “constructor” is none of host, requests"] }],
  ["order=up", { ...USUAL, wrong: ["order: “up” is none of asc, desc"] }],
])("the address %j", (text, order) => {
  expect(readOrder<Sort>(new URLSearchParams(text), FIRST, USUAL)).toEqual(order);
});

it("sorts a whole list, what has no value last", () => {
  const rows = [{ n: 2 }, { n: null }, { n: 10 }, { n: 1 }];
  expect(inOrder(rows, ({ n }) => n, "asc").map(({ n }) => n)).toEqual([1, 2, 10, null]);
  expect(inOrder(rows, ({ n }) => n, "desc").map(({ n }) => n)).toEqual([10, 2, 1, null]);
  expect(inOrder(["b", "a", "C"], (text) => text, "asc")).toEqual(["a", "b", "C"]);
});
