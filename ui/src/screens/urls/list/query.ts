/** The list of URLs as its address has it, and what that asks of the API. */
import type { UrlState } from "../../../api/types";
import { noneOf, type Order } from "../../../look/ordering";
import { STATES } from "../../../words/states";
import { withParameters } from "../../address";

export const ROWS = 200;
const PLACES_MAX = 50; // pages that "previous" finds its way back through; an address has an end

const SORTS = [
  ...(["id", "fetched_at", "url", "status", "depth", "bytes", "latency_ms"] as const),
  ...(["state", "reason", "title", "content_type", "retries"] as const),
] as const;
export type Sort = (typeof SORTS)[number];

/** Pages, what they need, or what lists them. */
export const LISTED = ["page", "requisite", "sitemap"] as const;
export type ListedKind = (typeof LISTED)[number];

export interface Filter {
  kind: ListedKind;
  states: UrlState[];
  host: string;
  status: number | null;
  depth: number | null;
  reason: string;
  text: string;
}

export interface UrlsQuery extends Filter {
  sort: Sort;
  order: Order;
  after: number[]; // by id: where each page gone through began, the shown one last
  offset: number; // sorted
}

export const NO_FILTER: Filter = {
  kind: "page",
  states: [],
  host: "",
  status: null,
  depth: null,
  reason: "",
  text: "",
};
export const FIRST_PAGE = { after: [] as number[], offset: 0 };

function whole(text: string | null | undefined): number | null {
  return text && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export function readQuery(search: URLSearchParams): UrlsQuery {
  const states = new Set(search.getAll("state"));
  const sort = SORTS.find((known) => known === search.get("sort")) ?? "id";
  const places = (search.get("after") ?? "").split(",").map(whole);
  return {
    kind: LISTED.find((known) => known === search.get("kind")) ?? "page",
    states: STATES.filter((state) => states.has(state)),
    host: search.get("host") ?? "",
    status: whole(search.get("status")),
    depth: whole(search.get("depth")),
    reason: search.get("reason") ?? "",
    text: search.get("text") ?? "",
    sort,
    order: search.get("order") === "desc" ? "desc" : "asc",
    after: sort === "id" ? places.filter((place) => place !== null) : [],
    offset: sort === "id" ? 0 : (whole(search.get("offset")) ?? 0),
  };
}

/** What the address asks for and there is not, in words: it would be passed over in silence, or find nothing. */
export function wrongIn(search: URLSearchParams): string[] {
  const wrong: string[] = [];
  for (const state of search.getAll("state")) {
    if (!STATES.some((known) => known === state)) wrong.push(noneOf("state", state, STATES));
  }
  for (const [name, words] of [
    ["kind", LISTED],
    ["sort", SORTS],
    ["order", ["asc", "desc"]],
  ] as const) {
    const word = search.get(name);
    if (word !== null && !words.some((known) => known === word)) wrong.push(noneOf(name, word, words));
  }
  for (const name of ["status", "depth"]) {
    const text = search.get(name);
    if (text && whole(text) === null) wrong.push(`${name}: “${text}” is no number`);
  }
  return wrong;
}

const NAMES = ["kind", "state", "host", "status", "depth", "reason", "text", "sort", "order", "after", "offset"];

/** What differs from an empty address; whatever else is in it (an open inspector) stays. */
export function writeQuery(before: URLSearchParams, query: UrlsQuery): URLSearchParams {
  const after = new URLSearchParams(before);
  for (const name of NAMES) after.delete(name);
  for (const state of query.states) after.append("state", state);
  const single: [string, string][] = [
    ["kind", query.kind === "page" ? "" : query.kind],
    ["host", query.host],
    ["status", query.status === null ? "" : String(query.status)],
    ["depth", query.depth === null ? "" : String(query.depth)],
    ["reason", query.reason],
    ["text", query.text],
    ["sort", query.sort === "id" ? "" : query.sort],
    ["order", query.order === "asc" ? "" : query.order],
    ["after", query.after.join(",")],
    ["offset", query.offset ? String(query.offset) : ""],
  ];
  for (const [name, value] of single) if (value) after.set(name, value);
  return after;
}

/** A change of what is listed begins at the first page. */
export function changed(query: UrlsQuery, change: Partial<UrlsQuery>): UrlsQuery {
  return { ...query, ...FIRST_PAGE, ...change };
}

export function isFiltered(filter: Filter): boolean {
  return Boolean(
    filter.kind !== "page" ||
      filter.states.length ||
      filter.host ||
      filter.status !== null ||
      filter.depth !== null ||
      filter.reason ||
      filter.text,
  );
}

/** How many pass the filter, where it is by state (of one kind) alone: those are counted all the time. */
export function totalOf(filter: Filter, counts: Partial<Record<UrlState, number>>): number | null {
  if (isFiltered({ ...filter, kind: "page", states: [] })) return null;
  const states = filter.states.length ? filter.states : STATES;
  return states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

export interface ApiFilter {
  kind?: ListedKind;
  state?: UrlState[];
  host?: string;
  status?: number;
  depth?: number;
  reason?: string;
  text?: string;
}

export function apiFilter(filter: Filter): ApiFilter {
  const asked: ApiFilter = {};
  if (filter.kind !== "page") asked.kind = filter.kind;
  if (filter.states.length) asked.state = filter.states;
  if (filter.host) asked.host = filter.host;
  if (filter.status !== null) asked.status = filter.status;
  if (filter.depth !== null) asked.depth = filter.depth;
  if (filter.reason) asked.reason = filter.reason;
  if (filter.text) asked.text = filter.text;
  return asked;
}

export interface Place {
  at: number; // `after` by id, else `offset`; 0: the beginning
  limit: number;
}

export type ApiQuery = ApiFilter & { limit: number; after?: number; offset?: number; sort?: Sort; order?: Order };

export function apiQuery(query: UrlsQuery, place: Place): ApiQuery {
  const asked: ApiQuery = { ...apiFilter(query), limit: place.limit };
  if (query.sort !== "id") asked.sort = query.sort;
  if (query.order !== "asc") asked.order = query.order;
  if (place.at) asked[query.sort === "id" ? "after" : "offset"] = place.at;
  return asked;
}

export function placeOf(query: UrlsQuery): Place {
  return { at: (query.sort === "id" ? query.after.at(-1) : query.offset) ?? 0, limit: ROWS };
}

export function atFirst(query: UrlsQuery): boolean {
  return placeOf(query).at === 0;
}

export function nextPage(query: UrlsQuery, next: number): UrlsQuery {
  if (query.sort !== "id") return { ...query, offset: next };
  return { ...query, after: [...query.after, next].slice(-PLACES_MAX) };
}

export function previousPage(query: UrlsQuery): UrlsQuery {
  if (query.sort !== "id") return { ...query, offset: Math.max(query.offset - ROWS, 0) };
  return { ...query, after: query.after.slice(0, -1) };
}

/** As in an address: lists are repeated. */
export function queryString(values: Record<string, string | number | readonly string[] | undefined>): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) written.append(name, String(one));
  }
  return written.toString();
}

/** Next to what is in the address: this URL in the inspector, on this tab if one is named. */
export function inspecting(before: URLSearchParams, id: number, tab?: string): URLSearchParams {
  return withParameters(before, { inspect: String(id), ...(tab && { tab }) });
}
