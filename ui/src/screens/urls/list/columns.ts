import type { Column } from "../../../look/Head";
import type { Sort } from "./query";

export type ColumnId =
  | "state"
  | "status"
  | "title"
  | "url"
  | "depth"
  | "type"
  | "size"
  | "latency"
  | "fetched"
  | "retries"
  | "reason"
  | "archive";

export type View = "urls" | "pages";

export const NAMES: Record<ColumnId, string> = {
  state: "State",
  status: "Status",
  title: "Title",
  url: "URL",
  depth: "Depth",
  type: "Type",
  size: "Size",
  latency: "Latency",
  fetched: "Fetched",
  retries: "Retries",
  reason: "Reason",
  archive: "Archive file",
};

const SORTS: Partial<Record<ColumnId, Sort>> = {
  state: "state",
  status: "status",
  title: "title",
  url: "url",
  depth: "depth",
  type: "content_type",
  size: "bytes",
  latency: "latency_ms",
  fetched: "fetched_at",
  retries: "retries",
  reason: "reason",
};
const UNSORTED = "files are numbered by the workers that write them: sort by when a page was fetched";
const PLAIN: ReadonlySet<ColumnId> = new Set(["state", "status", "title", "url", "reason"]); // they speak for themselves

/** A column as the head of the table has it. */
export function headOf(id: ColumnId): Column {
  const sort = SORTS[id];
  return {
    name: NAMES[id],
    number: NUMBERS.has(id),
    plain: PLAIN.has(id),
    ...(sort ? { sort } : { unsorted: UNSORTED }),
  };
}

export const NUMBERS: ReadonlySet<string> = new Set<ColumnId>(["status", "depth", "size", "retries"]);

const OF_VIEW: Record<View, readonly ColumnId[]> = {
  urls: ["state", "status", "url", "title", "depth", "type", "size", "latency", "fetched", "retries", "reason"],
  pages: ["title", "url", "status", "depth", "type", "size", "latency", "fetched", "archive"],
};
// The URL needs the room: at 1,280 px it would have a fifth of it beside all others.
const HIDDEN_AT_FIRST: Record<View, readonly ColumnId[]> = {
  urls: ["title", "type", "retries"],
  pages: ["status", "depth", "archive"],
};
// Beside an open inspector there is room for what names a row.
const BESIDE: ReadonlySet<ColumnId> = new Set(["state", "status", "title", "url"]);

export const columnsOf = (view: View) => OF_VIEW[view];

/** The URL is what a row is: it cannot be hidden. */
export const canHide = (column: ColumnId) => column !== "url";

const isColumn = (name: unknown): name is ColumnId => typeof name === "string" && Object.hasOwn(NAMES, name);
const keyOf = (view: View) => `nephila.columns.${view}`;

/** The hidden ones, as kept; whatever is no such list is not. */
export function hiddenOf(view: View, kept: string | null): ReadonlySet<ColumnId> {
  try {
    const names: unknown = JSON.parse(kept ?? "");
    if (Array.isArray(names)) return new Set(names.filter(isColumn).filter(canHide));
  } catch {
    // nothing kept, or not by us
  }
  return new Set(HIDDEN_AT_FIRST[view]);
}

export function toggled(hidden: ReadonlySet<ColumnId>, column: ColumnId): ReadonlySet<ColumnId> {
  const after = new Set(hidden);
  if (!after.delete(column) && canHide(column)) after.add(column);
  return after;
}

export function visible(view: View, hidden: ReadonlySet<ColumnId>, inspecting: boolean): ColumnId[] {
  return OF_VIEW[view].filter((column) => !hidden.has(column) && (!inspecting || BESIDE.has(column)));
}

export function keptHidden(view: View): ReadonlySet<ColumnId> {
  return hiddenOf(view, localStorage.getItem(keyOf(view)));
}

export function keepHidden(view: View, hidden: ReadonlySet<ColumnId>): void {
  localStorage.setItem(keyOf(view), JSON.stringify([...hidden]));
}
