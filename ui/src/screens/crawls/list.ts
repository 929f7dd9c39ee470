/** What the list of crawls asks for and says. Pure. */
import type { Crawl, CrawlState } from "../../api/types";
import { count, duration, many, words } from "../../words/format";
import { boundWords, type Facts, restWords } from "../../words/sentence";
import { isOver, sum } from "../../words/states";

export const PAGE_ROWS = 50;
export const LIVE_ROWS_MAX = 10; // rate and end are asked for one by one

export const CRAWL_STATES: readonly CrawlState[] = ["running", "paused", "ending", "completed", "cancelled", "failed"];

export interface Wish {
  status: CrawlState | null; // null: all
  after: number; // 0: from the newest
}

export function wishOf(search: URLSearchParams): Wish {
  const after = search.get("after") ?? "";
  return {
    status: CRAWL_STATES.find((state) => state === search.get("status")) ?? null,
    after: /^\d{1,15}$/.test(after) ? Number(after) : 0,
  };
}

export function queryOf({ status, after }: Wish) {
  return { limit: PAGE_ROWS, ...(status && { status }), ...(after > 0 && { after }) };
}

/** The address of a view: what is default is left out. */
export function addressOf({ status, after }: Wish): string {
  const search = new URLSearchParams();
  if (status) search.set("status", status);
  if (after) search.set("after", String(after));
  return search.size ? `/crawls?${search}` : "/crawls";
}

export function jsonOf(wish: Wish): string {
  const search = new URLSearchParams(Object.entries(queryOf(wish)).map(([name, value]) => [name, String(value)]));
  return `/api/v1/crawls?${search}`;
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

export function moreSeeds(seeds: number): string {
  return seeds > 1 ? `and ${many(seeds - 1, "more seed")}` : "";
}

/** Why it is as it is, where its state alone does not say it. */
export function reasonOf(crawl: Pick<Crawl, "status" | "reason" | "limited_by">): string {
  if (crawl.status === "completed") return crawl.limited_by ? `by its limit: ${words(crawl.limited_by)}` : "";
  return crawl.status === "paused" || crawl.status === "failed" ? crawl.reason : "";
}

export function errorsOf(crawl: Pick<Crawl, "errors">): { all: number; kinds: string } {
  const kinds = Object.entries(crawl.errors).map(([kind, times]) => `${words(kind)} ${count(times)}`);
  return { all: sum(crawl.errors), kinds: kinds.join(", ") || "no errors" };
}

/** The first running ones: only their rate and end are asked for. */
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

/** The rows that somebody points at stay where they are, with their newest facts; the rest of `fresh` waits. */
export function held<T extends { id: number }>(rows: readonly T[], fresh: readonly T[]): HeldRow<T>[] {
  const newest = new Map(fresh.map((row) => [row.id, row]));
  return rows.map((row) => ({ row: newest.get(row.id) ?? row, left: !newest.has(row.id) }));
}

/** How many came since. Older ones that moved up from the next page are not new. */
export function newer(rows: readonly { id: number }[], fresh: readonly { id: number }[]): number {
  const top = rows[0]?.id ?? 0;
  return fresh.filter((row) => row.id > top).length;
}
