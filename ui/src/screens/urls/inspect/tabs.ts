import { withParameters } from "../../address";

export const TABS = [
  { id: "why", text: "Why" },
  { id: "answer", text: "Answer" },
  { id: "links", text: "Links" },
  { id: "source", text: "Source" },
  { id: "rendering", text: "Rendering" },
] as const;

export type TabId = (typeof TABS)[number]["id"];

const FIRST: TabId = "why";

export function tabOf(search: URLSearchParams): TabId {
  return TABS.find(({ id }) => id === search.get("tab"))?.id ?? FIRST;
}

/** The address of a tab; the first is the default and needs no parameter. */
export function withTab(before: URLSearchParams, tab: TabId): URLSearchParams {
  return withParameters(before, { tab: tab === FIRST ? null : tab });
}
