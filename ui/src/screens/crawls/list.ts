/** What the list of crawls asks for and says. Pure. */
import type { operations } from "../../api/schema";
import type { Crawl, CrawlState } from "../../api/types";
import { noneOf, type Order, readOrder, type Sorted } from "../../look/ordering";
import { count, duration, many, words } from "../../words/format";
import { boundWords, type Facts, restWords } from "../../words/sentence";
import { isOver, sum } from "../../words/states";

export const PAGE_ROWS = 50;
export const LIVE_ROWS_MAX = 10; // rate and end are asked for one by one

export const CRAWL_STATES: readonly CrawlState[] = ["running", "paused", "ending", "completed", "cancelled", "failed"];

export type CrawlSort = NonNullable<operations["list_crawls"]["parameters"]["query"]>["sort"] & string;

/** What a heading gives first. */
export const FIRST: Readonly<Record<CrawlSort, Order>> = {
  id: "desc",
  name: "asc",
  status: "asc",
  ended: "desc",
  active_ms: "desc",
  bytes: "desc",
  errors: "desc",
};
export const NEWEST_FIRST: Sorted<CrawlSort> = { sort: "id", order: "desc" };

export interface CrawlsView extends Sorted<CrawlSort> {
  status: CrawlState | null; // null: all
  labels: readonly string[];
  text: string;
  after: number; // 0: from the first
}

export const ALL_CRAWLS: CrawlsView = { status: null, labels: [], text: "", after: 0, ...NEWEST_FIRST };

export function viewOf(search: URLSearchParams): CrawlsView & { wrong: string[] } {
  const after = search.get("after") ?? "";
  const status = search.get("status");
  const known = CRAWL_STATES.find((state) => state === status) ?? null;
  const { wrong, ...sorted } = readOrder(search, FIRST, NEWEST_FIRST);
  return {
    status: known,
    labels: search.getAll("label").filter(Boolean),
    text: search.get("text") ?? "",
    after: /^\d{1,15}$/.test(after) ? Number(after) : 0,
    ...sorted,
    wrong: status && !known ? [noneOf("status", status, CRAWL_STATES), ...wrong] : wrong,
  };
}

export function isFiltered({ status, labels, text }: CrawlsView): boolean {
  return status !== null || labels.length > 0 || text !== "";
}

export function queryOf({ status, labels, text, after, sort, order }: CrawlsView) {
  return {
    limit: PAGE_ROWS,
    ...(status && { status }),
    ...(labels.length > 0 && { label: [...labels] }),
    ...(text && { text }),
    ...(sort !== NEWEST_FIRST.sort && { sort }),
    ...((sort !== NEWEST_FIRST.sort || order !== NEWEST_FIRST.order) && { order }),
    ...(after > 0 && { after }),
  };
}

function written(query: Partial<ReturnType<typeof queryOf>>): URLSearchParams {
  const { label = [], ...single } = query;
  const search = new URLSearchParams(Object.entries(single).map(([name, value]) => [name, String(value)]));
  for (const each of label) search.append("label", each);
  return search;
}

/** The address of a view: what is default is left out. */
export function addressOf(view: CrawlsView): string {
  const { limit: _, ...query } = queryOf(view);
  const search = written(query);
  return search.size ? `/crawls?${search}` : "/crawls";
}

export function jsonOf(view: CrawlsView): string {
  return `/api/v1/crawls?${written(queryOf(view))}`;
}

export function endedOf(crawl: Pick<Crawl, "total" | "pending" | "in_progress">): number {
  return crawl.total - crawl.pending - crawl.in_progress;
}

/** "1,204 of 3,900", and one number where nothing is left. */
export function progressOf(crawl: Pick<Crawl, "total" | "pending" | "in_progress" | "seeding" | "status">): string {
  const ended = endedOf(crawl);
  const far = ended === crawl.total ? count(ended) : `${count(ended)} of ${count(crawl.total)}`;
  return crawl.seeding && !isOver(crawl.status) ? `${far}, adding seeds` : far;
}

/** What a crawl is called in one line: by its name, else by its seed. */
export function titleOf({ name, root_url, id }: Pick<Crawl, "name" | "root_url" | "id">): string {
  return name || root_url || `Crawl ${id}`;
}

export function moreSeeds(seeds: number): string {
  return seeds > 1 ? `and ${many(seeds - 1, "more seed")}` : "";
}

/** Why a crawl is in its state, if the state alone does not say it. */
export function reasonOf(crawl: Pick<Crawl, "status" | "reason" | "limited_by">): string {
  if (crawl.status === "completed") return crawl.limited_by ? `by its limit: ${words(crawl.limited_by)}` : "";
  return crawl.status === "paused" || crawl.status === "failed" ? crawl.reason : "";
}

export function errorsOf(crawl: Pick<Crawl, "errors">): { all: number; kinds: string } {
  const kinds = Object.entries(crawl.errors).map(([kind, times]) => `${words(kind)} ${count(times)}`);
  return { all: sum(crawl.errors), kinds: kinds.join(", ") || "no errors" };
}

/** The first LIVE_ROWS_MAX running crawls, whose rate and end are asked for. */
export function liveIds(crawls: readonly Pick<Crawl, "id" | "status">[]): ReadonlySet<number> {
  const running = crawls.filter((crawl) => crawl.status === "running");
  return new Set(running.slice(0, LIVE_ROWS_MAX).map((crawl) => crawl.id));
}

type Pace = Pick<Facts, "waiting" | "resting" | "eta_seconds" | "bounded_by">;

/** When a running crawl ends, and on hover what decides it. */
export function endOf({ waiting, resting, eta_seconds, bounded_by }: Pace): { text: string; why: string } {
  if (waiting) return { text: "waiting", why: waiting };
  if (resting) return { text: "hosts rest", why: restWords(resting) };
  const text = eta_seconds == null ? "–" : `about ${duration(eta_seconds * 1000)}`;
  return { text, why: bounded_by ? boundWords(bounded_by) : "" };
}

export interface HeldRow<T> {
  row: T;
  left: boolean; // it is no longer in the list
}

/** Rows under the pointer stay where they are, with their newest values; the rest of `fresh` waits. */
export function held<T extends { id: number }>(rows: readonly T[], fresh: readonly T[]): HeldRow<T>[] {
  const newest = new Map(fresh.map((row) => [row.id, row]));
  return rows.map((row) => ({ row: newest.get(row.id) ?? row, left: !newest.has(row.id) }));
}

/** How many crawls are new since. Older ones that moved up from the next page are not. */
export function newer(rows: readonly { id: number }[], fresh: readonly { id: number }[]): number {
  const top = rows[0]?.id ?? 0;
  return fresh.filter((row) => row.id > top).length;
}
