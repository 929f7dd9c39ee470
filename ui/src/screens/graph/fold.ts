/**
 * Which nodes are drawn. A graph that is not large: all of them. A large one begins with its groups (hosts, in them
 * folders), each one node that can be opened, step by step; what does not fit stays inside, and nothing is left out
 * without a word.
 */
import type { GraphNode } from "../../api/types";
import { count, many } from "../../words/format";
import type { Kind } from "./address";
import { groupingOf } from "./communities";
import { below, type Groups, groupsOf, inmost, shortName } from "./groups";

export interface Bounds {
  whole: number; // nodes up to which nothing is grouped
  drawn: number; // nodes and groups that are drawn at most
}

/** A tree of 50,000 nodes can be read; of links, so many make a ball of wool. */
export const BOUNDS: Record<Kind, Bounds> = {
  discovery: { whole: 50_000, drawn: 50_000 },
  links: { whole: 5000, drawn: 20_000 },
};
const OPENED_SHARE = 1 / 3; // of all nodes: a group with more is open from the beginning
const FLAT_MAX = 300; // nodes of a group that is opened with all that it holds, whatever the folders
const GROUPS_SHARE = 0.8; // of what is drawn; the rest is for pages

export interface Fold {
  name: string;
  label: string;
  count: number; // of the nodes that are in it
  leading: GraphNode["state"]; // what most of them are
}

export interface Item {
  key: string; // the node's id, "+" and the name of a group, or "=" and the name of one that is partly drawn
  node: GraphNode; // of a fold: its first
  fold: Fold | null;
  parent: number; // the item it was found on; -1: none
  group: string; // what it is laid out with: a community of its own
  area: number; // the opened group that it lies in
}

/** An opened group: what it holds is drawn, in the place of the group. */
export interface Area {
  name: string;
  label: string;
  parent: number; // the area it lies in; -1: it is everything
}

export interface Group {
  name: string;
  count: number;
  shown: number; // of its nodes, one by one
}

export interface Folded {
  items: readonly Item[];
  at: Int32Array; // the item of each node
  areas: readonly Area[]; // those outside first; empty: nothing is grouped
  groups: readonly Group[]; // all that there are; empty: nothing is grouped
  groupOf: (node: number) => string; // the name of the group that a node lies in, by its number
}

export const keyOf = (id: number) => String(id);
export const foldKey = (name: string) => `+${name}`;
const restKey = (name: string) => `=${name}`;

type IndexOf = (id: number) => number | undefined;

export function fold(
  nodes: readonly GraphNode[],
  indexOf: IndexOf,
  open: readonly string[] = [],
  bounds: Bounds = BOUNDS.discovery,
): Folded {
  if (nodes.length > bounds.whole) return new Folding(nodes, open, bounds.drawn).result(indexOf);
  const group = groupingOf(nodes);
  const at = Int32Array.from(nodes.keys());
  const items = nodes.map((node) => ({
    key: keyOf(node.id),
    node,
    fold: null,
    parent: -1,
    group: group(node),
    area: 0,
  }));
  return { items: parented(items, nodes, at, indexOf), at, areas: [], groups: [], groupOf: () => "" };
}

/** Where the nodes of a group go: one by one into an area, as far as there is room, the others into a fold of it. */
interface Place {
  area: number;
  wanted: number; // that should be drawn one by one
  room: number; // that are
  fold: { key: string; name: string };
}

class Folding {
  private readonly groups: Groups;
  private readonly areas: Area[] = [{ name: "", label: "", parent: -1 }];
  private readonly places: Place[] = [];
  private readonly placeOf: Int32Array; // of each group
  private readonly opened = new Set<number>();
  private readonly named = new Set<number>();
  private drawn = 0;

  constructor(
    private readonly nodes: readonly GraphNode[],
    open: readonly string[],
    private readonly bound: number,
  ) {
    this.groups = groupsOf(nodes);
    this.placeOf = new Int32Array(this.groups.names.length).fill(-1);
    this.markOpened(open);
    const whole = inmost(this.groups, 0);
    this.areas[0] = { name: this.groups.names[whole] ?? "", label: "", parent: -1 };
    this.enter(whole, 0);
    this.share();
  }

  result(indexOf: IndexOf): Folded {
    const { nodes, groups } = this;
    const at = new Int32Array(nodes.length);
    const items: Item[] = [];
    const folds = new Map<string, number>();
    const states = new Map<string, Map<string, number>>();
    const shown = new Int32Array(groups.names.length);
    for (const [index, node] of nodes.entries()) {
      const group = groups.of[index] ?? 0;
      const place = this.places[this.placeOf[group] ?? -1];
      if (!place) continue;
      const around = this.areas[place.area]?.name ?? "";
      const base = { node, parent: -1, group: around, area: place.area };
      if (place.room > 0) {
        place.room -= 1;
        at[index] = items.push({ ...base, key: keyOf(node.id), fold: null }) - 1;
        for (let each = group; each >= 0; each = groups.parents[each] ?? -1) shown[each] = (shown[each] ?? 0) + 1;
        continue;
      }
      const { key, name } = place.fold;
      let slot = folds.get(key);
      if (slot === undefined) {
        const label = key === restKey(name) ? `more of ${shortName(name, "")}` : shortName(name, around);
        slot = items.push({ ...base, key, fold: { name, label, count: 0, leading: node.state } }) - 1;
        folds.set(key, slot);
        states.set(key, new Map());
      }
      at[index] = slot;
      tally(items[slot]?.fold, states.get(key), node.state);
    }
    const listed = groups.names.map((name, group) => ({
      name,
      count: groups.counts[group] ?? 0,
      shown: shown[group] ?? 0,
    }));
    return {
      items: parented(items, nodes, at, indexOf),
      at,
      areas: this.areas,
      groups: listed.filter((group, number) => number > 0 && group.count > 1 && inmost(groups, number) === number),
      groupOf: (node) => groups.names[groups.of[node] ?? 0] ?? "",
    };
  }

  /** What is named is open, with all around it; so is what holds much of the graph: its one node would say nothing. */
  private markOpened(open: readonly string[]): void {
    const { names, parents, counts, children } = this.groups;
    const wanted = new Set(open);
    for (const [group, name] of names.entries()) {
      const large = (counts[group] ?? 0) > OPENED_SHARE * this.nodes.length;
      if (large && (children[group]?.length ?? 0) > 1) this.opened.add(group);
      if (!wanted.has(name)) continue;
      this.named.add(inmost(this.groups, group));
      for (let each = inmost(this.groups, group); each > 0; each = parents[each] ?? -1) this.opened.add(each);
    }
  }

  private enter(group: number, area: number): void {
    const { names, children, own, counts } = this.groups;
    const name = names[group] ?? "";
    if (this.named.has(group) && (counts[group] ?? 0) <= FLAT_MAX) {
      this.spread(below(this.groups, group), group, area);
      return;
    }
    if (own[group]) this.spread([group], group, area);
    const crowd: number[] = [];
    for (const each of children[group] ?? []) {
      const child = inmost(this.groups, each);
      if (this.drawn >= this.bound * GROUPS_SHARE) crowd.push(...below(this.groups, child));
      else if (counts[child] === 1) this.spread(below(this.groups, child), child, area);
      else if (this.opened.has(child)) {
        const around = this.areas[area]?.name ?? "";
        const label = shortName(names[child] ?? "", around);
        this.enter(child, this.areas.push({ name: names[child] ?? "", label, parent: area }) - 1);
      } else this.close(child, area);
    }
    if (crowd.length) this.put(crowd, { area, wanted: 0, room: 0, fold: { key: restKey(name), name } });
  }

  /** One by one, as far as there is room, which `share` says. */
  private spread(groups: readonly number[], group: number, area: number): void {
    const wanted = groups.reduce((sum, each) => sum + (this.groups.own[each] ?? 0), 0);
    const name = this.groups.names[group] ?? "";
    this.drawn += 1;
    this.put(groups, { area, room: 0, wanted, fold: { key: restKey(name), name } });
  }

  /** What the groups leave is for pages. A place that gets all it wants needs no fold for the rest. */
  private share(): void {
    let left = Math.max(0, this.bound - this.drawn);
    for (const place of this.places) {
      if (!place.wanted) continue;
      const whole = place.wanted <= left + 1;
      place.room = whole ? place.wanted : left;
      left -= whole ? place.wanted - 1 : left;
    }
  }

  private close(group: number, area: number): void {
    const name = this.groups.names[group] ?? "";
    this.drawn += 1;
    this.put(below(this.groups, group), { area, wanted: 0, room: 0, fold: { key: foldKey(name), name } });
  }

  private put(groups: readonly number[], place: Place): void {
    const number = this.places.push(place) - 1;
    for (const group of groups) this.placeOf[group] = number;
  }
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

/** The keys of all that is drawn of an opened group; none, while it is closed. */
export function membersOf({ items, areas }: Pick<Folded, "items" | "areas">, name: string): string[] {
  const inside = new Set<number>();
  for (const [number, area] of areas.entries()) {
    if (area.name === name || inside.has(area.parent)) inside.add(number);
  }
  return items.filter((item) => inside.has(item.area)).map((item) => item.key);
}

/** The groups of which a node of the picture stands for all or for some nodes, the largest first. */
export function closedGroups({ items }: Folded): Fold[] {
  return items.flatMap((item) => item.fold ?? []).sort((a, b) => b.count - a.count);
}

/** What is grouped, in words; "" when nothing is. */
export function foldWords(folded: Folded, nodes: number): string {
  if (!folded.areas.length) return "";
  const closed = closedGroups(folded);
  const inside = closed.reduce((all, each) => all + each.count, 0);
  const single = folded.items.length - closed.length;
  const partly = folded.items.filter((item) => item.key.startsWith("="));
  const rest = partly.length
    ? ` There is no room for ${partly.map((item) => `${count(item.fold?.count ?? 0)} of ${item.fold?.name}`).join(", ")}: close another group first.`
    : "";
  return (
    `${many(nodes, "node")} are drawn as groups first: ${many(closed.length, "group")} with ${many(inside, "node")}` +
    `${single ? `, and ${many(single, "single node")}` : ""}. Double-click a group to open it, or open it here.${rest}`
  );
}
