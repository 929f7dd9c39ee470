/** What the graph shows, as the address has it: it can be shared, and survives a reload. Defaults are left out. */

export type Kind = "discovery" | "links";
export type Colour = "state" | "host" | "depth";

export interface View {
  kind: Kind;
  colour: Colour;
  every: number; // seconds between refreshes
  node: number | null; // the chosen one
  focus: number | null; // only what is near it is shown
  steps: number; // how near
  hidden: readonly string[]; // legend entries that are off
  open: readonly string[]; // folded hosts or folders that are opened
}

/** `inspect` belongs to the frame; a click changes both, and the router takes one change at a time. */
export type Change = Partial<View> & { inspect?: number | null };

export const EVERY_MAX = 10;
export const STEPS_MAX = 3;

const DEFAULT: View = {
  kind: "discovery",
  colour: "state",
  every: 3,
  node: null,
  focus: null,
  steps: 1,
  hidden: [],
  open: [],
};
const COLOURS: readonly Colour[] = ["state", "host", "depth"];

function within(text: string | null, most: number, fallback: number): number {
  const value = text && /^\d{1,2}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= most ? value : fallback;
}

function id(text: string | null): number | null {
  return text && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export function viewOf(search: URLSearchParams): View {
  const colour = COLOURS.find((each) => each === search.get("colour"));
  return {
    kind: search.get("kind") === "links" ? "links" : "discovery",
    colour: colour ?? DEFAULT.colour,
    every: within(search.get("every"), EVERY_MAX, DEFAULT.every),
    node: id(search.get("node")),
    focus: id(search.get("focus")),
    steps: within(search.get("steps"), STEPS_MAX, DEFAULT.steps),
    hidden: search.getAll("hide"),
    open: search.getAll("open"),
  };
}

function put(search: URLSearchParams, name: string, value: string | number | null, fallback?: string | number): void {
  if (value === null || value === fallback) search.delete(name);
  else search.set(name, String(value));
}

function putAll(search: URLSearchParams, name: string, values: readonly string[]): void {
  search.delete(name);
  for (const value of values) search.append(name, value);
}

export function changed(before: URLSearchParams, change: Change): URLSearchParams {
  const after = new URLSearchParams(before);
  const view = { ...viewOf(before), ...change };
  // An entry of the legend of states means nothing in that of hosts.
  if (change.colour && change.colour !== viewOf(before).colour) view.hidden = [];
  put(after, "kind", view.kind, DEFAULT.kind);
  put(after, "colour", view.colour, DEFAULT.colour);
  put(after, "every", view.every, DEFAULT.every);
  put(after, "node", view.node);
  put(after, "focus", view.focus);
  put(after, "steps", view.focus === null ? null : view.steps, DEFAULT.steps);
  putAll(after, "hide", view.hidden);
  putAll(after, "open", view.open);
  if (change.inspect !== undefined) put(after, "inspect", change.inspect);
  return after;
}
