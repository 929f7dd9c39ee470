import type { CrawlState, UrlState } from "../api/types";

/** In the order in which bars and legends show them. */
export const STATES: readonly UrlState[] = [
  "visited",
  "redirected",
  "not_found",
  "forbidden",
  "excluded",
  "http_error",
  "failed",
  "cancelled",
  "evicted",
  "in_progress",
  "queued",
];

export const OPEN: ReadonlySet<UrlState> = new Set(["queued", "in_progress"]);

export const stateColour = (state: UrlState) => `var(--state-${state})`;

/** The colour of a crawl's state is that of the URL state with the same meaning. */
export const CRAWL_COLOURS: Record<CrawlState, string> = {
  running: "var(--state-in_progress)",
  paused: "var(--state-not_found)",
  ending: "var(--state-http_error)",
  completed: "var(--state-visited)",
  cancelled: "var(--state-cancelled)",
  failed: "var(--state-failed)",
};

export const isOver = (state: CrawlState) => state === "completed" || state === "cancelled" || state === "failed";

export function sum(states: Partial<Record<UrlState, number>>): number {
  return Object.values(states).reduce((all, part) => all + (part ?? 0), 0);
}
