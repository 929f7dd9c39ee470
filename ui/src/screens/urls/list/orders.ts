import { afterHeading, type Order, type Ordering, type Sorted as SortedBy } from "../../../look/ordering";
import type { Sort } from "./query";

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
  { sort: "bytes", order: "desc", text: "largest first" },
  { sort: "bytes", order: "asc", text: "smallest first" },
  { sort: "latency_ms", order: "desc", text: "slowest first" },
  { sort: "latency_ms", order: "asc", text: "fastest first" },
  { sort: "status", order: "asc", text: "lowest status first" },
  { sort: "status", order: "desc", text: "highest status first" },
  { sort: "depth", order: "asc", text: "nearest to a seed first" },
  { sort: "depth", order: "desc", text: "deepest first" },
  { sort: "state", order: "asc", text: "by state, open ones first" },
  { sort: "state", order: "desc", text: "by state, open ones last" },
  { sort: "reason", order: "asc", text: "reason, A to Z" },
  { sort: "reason", order: "desc", text: "reason, Z to A" },
  { sort: "title", order: "asc", text: "title, A to Z" },
  { sort: "title", order: "desc", text: "title, Z to A" },
  { sort: "content_type", order: "asc", text: "type, A to Z" },
  { sort: "content_type", order: "desc", text: "type, Z to A" },
  { sort: "retries", order: "desc", text: "most retries first" },
  { sort: "retries", order: "asc", text: "fewest retries first" },
];

export type Sorted = SortedBy<Sort>;

export const AS_FOUND: Sorted = { sort: "id", order: "asc" };

export const orderKey = ({ sort, order }: Sorted) => `${sort} ${order}`;

export function orderOf(key: string): Sorted {
  const found = ORDERS.find((choice) => orderKey(choice) === key);
  return found ? { sort: found.sort, order: found.order } : AS_FOUND;
}

/** What a heading gives first. */
const FIRST: Readonly<Record<Sort, Order>> = {
  id: "asc",
  fetched_at: "desc",
  url: "asc",
  status: "desc",
  depth: "desc",
  bytes: "desc",
  latency_ms: "desc",
  state: "asc",
  reason: "desc",
  title: "asc",
  content_type: "asc",
  retries: "desc",
};

const isSort = (name: string): name is Sort => Object.hasOwn(FIRST, name);

/** A heading goes through its two orders and back to none. */
export function nextOrder(sort: Sort, now: Sorted): Sorted {
  return afterHeading({ sort, order: FIRST[sort] }, now, AS_FOUND);
}

export function orderingOfUrls(now: Sorted, unsortable: string, go: (sorted: Sorted) => void): Ordering {
  return {
    towards: (sort) => (sort === now.sort ? (now.order === "asc" ? "ascending" : "descending") : undefined),
    refuses: () => unsortable,
    choose: (sort) => {
      if (isSort(sort)) go(nextOrder(sort, { sort: now.sort, order: now.order }));
    },
  };
}
