/** What is searched for, as the address has it, and what that asks of the API. Pure. */
import { withParameters } from "../address";

export const PAGE_RESULTS = 20;
export const SKIPPED_MAX = 1000; // the API goes no further
export const QUERY_CHARS_MAX = 1000;

export interface Question {
  q: string;
  crawl: string; // its number or uuid; none: all
  host: string;
}

export interface SearchView extends Question {
  offset: number;
}

export function viewOf(search: URLSearchParams): SearchView {
  const text = (name: string) => search.get(name)?.trim() ?? "";
  const offset = text("offset");
  return {
    q: text("q"),
    crawl: text("crawl"),
    host: text("host"),
    offset: /^\d{1,15}$/.test(offset) ? Math.min(Number(offset), SKIPPED_MAX) : 0,
  };
}

/** Another question begins with its best results. */
export function asking(before: URLSearchParams, change: Partial<Question>): URLSearchParams {
  return withParameters(before, { ...change, offset: null });
}

export function skipping(before: URLSearchParams, offset: number): URLSearchParams {
  return withParameters(before, { offset: offset ? String(offset) : null });
}

export function queryOf({ q, crawl, host, offset }: SearchView) {
  return { q, ...(crawl && { crawl }), ...(host && { host }), limit: PAGE_RESULTS, ...(offset > 0 && { offset }) };
}

export function jsonOf(view: SearchView): string {
  const search = new URLSearchParams(Object.entries(queryOf(view)).map(([name, value]) => [name, String(value)]));
  return `/api/v1/search?${search}`;
}

/** null: there is no next page, or none that the API would give. */
export function nextOffset(offset: number, total: number): number | null {
  const next = offset + PAGE_RESULTS;
  return next < total && next <= SKIPPED_MAX ? next : null;
}

export function previousOffset(offset: number): number | null {
  return offset > 0 ? Math.max(offset - PAGE_RESULTS, 0) : null;
}
