import { expect, it, vi } from "vitest";
import { AS_FOUND, nextOrder, ORDERS, orderingOfUrls, orderKey, orderOf } from "./orders";

it("a heading goes through its orders and back", () => {
  const first = nextOrder("fetched_at", AS_FOUND);
  const second = nextOrder("fetched_at", first);
  expect([first, second, nextOrder("fetched_at", second)]).toEqual([
    { sort: "fetched_at", order: "desc" },
    { sort: "fetched_at", order: "asc" },
    AS_FOUND,
  ]);
  expect(nextOrder("url", second)).toEqual({ sort: "url", order: "asc" });
  expect(nextOrder("latency_ms", second)).toEqual({ sort: "latency_ms", order: "desc" });
});

it("says which column is sorted, and why none can be", () => {
  const go = vi.fn();
  const ordering = orderingOfUrls({ sort: "url", order: "desc" }, "too many URLs", go);
  expect([ordering.towards("url"), ordering.towards("fetched_at")]).toEqual(["descending", undefined]);
  expect(ordering.refuses("url")).toBe("too many URLs");
  ordering.choose("bytes");
  ordering.choose("nonsense");
  expect(go.mock.calls).toEqual([[{ sort: "bytes", order: "desc" }]]);
});

it("names every order once", () => {
  for (const { sort, order } of ORDERS) expect(orderOf(orderKey({ sort, order }))).toEqual({ sort, order });
  expect(new Set(ORDERS.map(orderKey)).size).toBe(ORDERS.length);
  expect(orderOf("nonsense")).toEqual(AS_FOUND);
});
