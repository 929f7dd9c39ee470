import { expect, it } from "vitest";
import { AS_FOUND, afterHeading, ariaSort, ORDERS, orderKey, orderOf } from "./orders";

it("a heading goes through its orders and back", () => {
  const first = afterHeading("fetched", AS_FOUND);
  const second = afterHeading("fetched", first);
  expect([first, second, afterHeading("fetched", second)]).toEqual([
    { sort: "fetched_at", order: "desc" },
    { sort: "fetched_at", order: "asc" },
    AS_FOUND,
  ]);
  expect(afterHeading("url", second)).toEqual({ sort: "url", order: "asc" });
  expect(afterHeading("depth", second)).toEqual(second);
});

it("says which column is sorted", () => {
  expect(ariaSort("url", { sort: "url", order: "desc" })).toBe("descending");
  expect(ariaSort("fetched", { sort: "url", order: "desc" })).toBeUndefined();
  expect(ariaSort("state", AS_FOUND)).toBeUndefined();
});

it("names every order once", () => {
  for (const { sort, order } of ORDERS) expect(orderOf(orderKey({ sort, order }))).toEqual({ sort, order });
  expect(new Set(ORDERS.map(orderKey)).size).toBe(ORDERS.length);
  expect(orderOf("nonsense")).toEqual(AS_FOUND);
});
