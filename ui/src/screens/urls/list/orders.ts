import type { Order, Sort } from "./query";

interface Choice {
  sort: Sort;
  order: Order;
  text: string;
}

export const ORDERS: readonly Choice[] = [
  { sort: "id", order: "asc", text: "as found" },
  { sort: "id", order: "desc", text: "last found first" },
  { sort: "fetched_at", order: "desc", text: "last fetched first" },
  { sort: "fetched_at", order: "asc", text: "first fetched first" },
  { sort: "url", order: "asc", text: "URL, A to Z" },
  { sort: "url", order: "desc", text: "URL, Z to A" },
];

export type Sorted = Pick<Choice, "sort" | "order">;

export const AS_FOUND: Sorted = { sort: "id", order: "asc" };

export const orderKey = ({ sort, order }: Sorted) => `${sort} ${order}`;

export function orderOf(key: string): Sorted {
  const found = ORDERS.find((choice) => orderKey(choice) === key);
  return found ? { sort: found.sort, order: found.order } : AS_FOUND;
}

/** Which column stands for which order, and what its heading gives first. */
const FIRST: Partial<Record<string, Sorted>> = {
  url: { sort: "url", order: "asc" },
  fetched: { sort: "fetched_at", order: "desc" },
};

export const isSortable = (column: string) => FIRST[column] !== undefined;

/** A heading goes through its two orders and back to none. */
export function afterHeading(column: string, now: Sorted): Sorted {
  const first = FIRST[column];
  if (!first) return { sort: now.sort, order: now.order };
  if (now.sort !== first.sort) return first;
  return now.order === first.order ? { sort: first.sort, order: first.order === "asc" ? "desc" : "asc" } : AS_FOUND;
}

export function ariaSort(column: string, now: Sorted): "ascending" | "descending" | undefined {
  if (FIRST[column]?.sort !== now.sort) return undefined;
  return now.order === "asc" ? "ascending" : "descending";
}
