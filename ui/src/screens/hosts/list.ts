/** The lists of hosts, as their addresses have them. Pure. */
import type { operations } from "../../api/schema";
import type { Order, Sorted } from "../../look/ordering";
import { many } from "../../words/format";

export type HostSort = NonNullable<operations["list_all_hosts"]["parameters"]["query"]>["sort"] & string;
export type CrawlHostSort = NonNullable<operations["list_hosts"]["parameters"]["query"]>["sort"] & string;

export const LIMIT = 100;
export const BY_NAME: Sorted<"host"> = { sort: "host", order: "asc" };

/** What a heading gives first. */
export const FIRST: Readonly<Record<HostSort, Order>> = {
  host: "asc",
  requests: "desc",
  delay_ms: "desc",
  next_in_ms: "desc",
  latency_ms: "desc",
  slowdown: "desc",
  errors: "desc",
  strikes: "desc",
};
export const FIRST_IN_CRAWL: Readonly<Record<CrawlHostSort, Order>> = {
  host: "asc",
  open: "desc",
  fetched: "desc",
  delay_ms: "desc",
  next_in_ms: "asc",
  held_by: "desc",
  errors: "desc",
};

/** "57 hosts"; null: too many to be counted. */
export function totalWords(total: number | null): string {
  return total === null ? "too many hosts to be counted" : many(total, "host");
}

/** What a list asks the API for: what is default is left out. */
export function queryOf<S extends string>(search: URLSearchParams, { sort, order }: Sorted<S>) {
  const by = sort === BY_NAME.sort && order === BY_NAME.order ? {} : { sort, order };
  return {
    limit: LIMIT,
    ...(search.get("text") && { text: search.get("text") ?? "" }),
    ...(search.get("after") && { after: search.get("after") ?? "" }),
    ...by,
  };
}

export function jsonOf(path: string, query: Record<string, unknown>): string {
  return `${path}?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))}`;
}
