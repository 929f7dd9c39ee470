/**
 * Which nodes are drawn. Up to the bound: all of them. Above it, each host (or folder, of an only host) is one node
 * that can be opened; what does not fit stays in it, and nothing is left out without a word.
 */
import type { GraphNode } from "../../api/types";
import { count, many } from "../../words/format";
import { groupingOf } from "./groups";

export const NODES_MAX = 50_000;
const FOLDS_SHARE = 0.8;
export const OTHERS = "others"; // groups too small to have a node of their own

export interface Fold {
  name: string;
  count: number; // of the nodes that are in it
  leading: GraphNode["state"]; // what most of them are
}

export interface Item {
  key: string; // the node's id, or "+" and the name of a fold
  node: GraphNode; // of a fold: its first
  fold: Fold | null;
  parent: number; // the item it was found on; -1: none
  group: string;
}

export interface Group {
  name: string;
  count: number;
  shown: number; // of its nodes, one by one
}

export interface Folded {
  items: readonly Item[];
  at: Int32Array; // the item of each node
  by: "host" | "folder";
  groups: readonly Group[]; // empty: nothing is folded
}

export const keyOf = (id: number) => String(id);
export const foldKey = (name: string) => `+${name}`;

type IndexOf = (id: number) => number | undefined;

export function fold(
  nodes: readonly GraphNode[],
  indexOf: IndexOf,
  open: readonly string[] = [],
  bound = NODES_MAX,
): Folded {
  const { by, group } = groupingOf(nodes);
  const names = nodes.map(group);
  if (nodes.length <= bound) {
    const at = Int32Array.from(nodes.keys());
    const items = nodes.map((node, index) => item(node, names[index] ?? ""));
    return { items: parented(items, nodes, at, indexOf), at, by, groups: [] };
  }
  const groups = shares(merged(sizes(names), bound), open, bound);
  return { ...folded(nodes, names, groups, indexOf), by, groups: [...groups.values()] };
}

function item(node: GraphNode, group: string): Item {
  return { key: keyOf(node.id), node, fold: null, parent: -1, group };
}

function sizes(names: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1);
  return found;
}

/** Some of the room is for what is opened; the smallest groups share one fold. */
function merged(found: Map<string, number>, bound: number): Map<string, number> {
  const room = Math.max(1, Math.floor(bound * FOLDS_SHARE));
  if (found.size <= room) return found;
  const large = [...found].sort((a, b) => b[1] - a[1]).slice(0, room - 1);
  const kept = new Map(large);
  let rest = 0;
  for (const [name, size] of found) if (!kept.has(name)) rest += size;
  return kept.set(OTHERS, rest);
}

/** How many nodes of each group are drawn one by one: of the opened ones as many as there is room for. */
function shares(found: Map<string, number>, open: readonly string[], bound: number): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const [name, size] of found) groups.set(name, { name, count: size, shown: size === 1 ? 1 : 0 });
  let room = bound - groups.size;
  for (const name of open) {
    const group = groups.get(name);
    if (!group || group.shown || room <= 0) continue;
    const whole = group.count <= room + 1; // then its fold is not needed
    group.shown = whole ? group.count : room;
    room -= whole ? group.count - 1 : room;
  }
  return groups;
}

function folded(
  nodes: readonly GraphNode[],
  names: readonly string[],
  groups: ReadonlyMap<string, Group>,
  indexOf: IndexOf,
): { items: Item[]; at: Int32Array } {
  const at = new Int32Array(nodes.length);
  const items: Item[] = [];
  const folds = new Map<string, number>();
  const taken = new Map<string, number>();
  const states = new Map<string, Map<string, number>>();
  for (const [index, node] of nodes.entries()) {
    const own = names[index] ?? "";
    const name = groups.has(own) ? own : OTHERS;
    const before = taken.get(name) ?? 0;
    if (before < (groups.get(name)?.shown ?? 0)) {
      taken.set(name, before + 1);
      at[index] = items.push(item(node, name)) - 1;
      continue;
    }
    let place = folds.get(name);
    if (place === undefined) {
      const fresh = { name, count: 0, leading: node.state };
      place = items.push({ ...item(node, name), key: foldKey(name), fold: fresh }) - 1;
      folds.set(name, place);
      states.set(name, new Map());
    }
    at[index] = place;
    tally(items[place]?.fold, states.get(name), node.state);
  }
  return { items: parented(items, nodes, at, indexOf), at };
}

function tally(fold: Fold | null | undefined, states: Map<string, number> | undefined, state: Fold["leading"]): void {
  if (!fold || !states) return;
  fold.count += 1;
  const now = (states.get(state) ?? 0) + 1;
  states.set(state, now);
  if (now > (states.get(fold.leading) ?? 0)) fold.leading = state;
}

/** The parent of an item is what its first node was found on, outside of it. */
function parented(items: Item[], nodes: readonly GraphNode[], at: Int32Array, indexOf: IndexOf): Item[] {
  for (const [index, node] of nodes.entries()) {
    const place = at[index] ?? -1;
    const own = items[place];
    if (!own || own.parent >= 0 || node.parent === null) continue;
    const parent = indexOf(node.parent);
    const above = parent === undefined ? -1 : (at[parent] ?? -1);
    if (above !== place) own.parent = above;
  }
  return items;
}

/** What is folded, in words; "" when nothing is. */
export function foldWords({ groups, by, items }: Folded, nodes: number, bound = NODES_MAX): string {
  if (!groups.length) return "";
  const closed = groups.filter((group) => group.shown < group.count);
  const inside = closed.reduce((all, group) => all + group.count - group.shown, 0);
  const half = closed.filter((group) => group.shown > 0);
  const partly = half.length
    ? ` Of ${half.map((group) => `${group.name} ${count(group.shown)} of ${count(group.count)}`).join(", ")} are shown: there is no room for more. Close another first.`
    : "";
  return (
    `${many(nodes, "node")} are more than the ${count(bound)} that can be drawn at once, so ` +
    `${many(closed.length, by)} with ${many(inside, "node")} are folded into one node each; ${count(items.length)} are drawn. ` +
    `Double-click one to open it, or find it and press Enter.${partly}`
  );
}
