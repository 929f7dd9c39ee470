/** What is to be drawn, and how it looks: made from the data by pure functions, drawn by the picture. */
import { type AllEdges, type Bundles, linesMax, strongest } from "./edges";
import type { Area, Folded, Item } from "./fold";

export interface Scene {
  items: readonly Item[];
  areas: readonly Area[]; // empty: nothing is grouped
  all: AllEdges;
  edges: Bundles; // those of them that are drawn while all of the picture is seen
}

export interface Look {
  colour: (item: Item) => string;
  size: (item: Item, place: number) => number; // in pixels; in a picture of groups a factor of the room that it has
  hidden: ReadonlySet<string>; // keys
}

export function sceneOf({ items, areas }: Folded, all: AllEdges): Scene {
  return { items, areas, all, edges: strongest(all, items.length, linesMax(items.length, areas.length > 0)) };
}

/** Whether there are more edges than are drawn. */
export const thinned = ({ all, edges }: Scene) => edges.weights.length < all.weights.length;

/** Links or finds that make a node important, by item. */
export function weights(folded: Folded, byNode: Uint32Array): Uint32Array {
  const found = new Uint32Array(folded.items.length);
  for (const [node, weight] of byNode.entries()) {
    const place = folded.at[node];
    if (place !== undefined) found[place] = (found[place] ?? 0) + weight;
  }
  return found;
}

const SMALL = 500;
const MEDIUM = 5000;
const LARGE = 20_000;
const TIMES_MAX = 5;
const STRESS_MAX = 1.6; // what a page that much leads to has of its room, compared with another

/** The more there are, the smaller each is. */
export function baseSize(order: number): number {
  if (order > LARGE) return 1.6;
  if (order > MEDIUM) return 2.2;
  return order > SMALL ? 3 : 4.5;
}

export function sizeOf(weight: number, order: number): number {
  return baseSize(order) * Math.min(TIMES_MAX, 1 + 0.35 * Math.log2(1 + weight));
}

/** In a picture of groups the room says how large an item is; a page that many lead to has more of it. */
export function stressOf(item: Item, weight: number): number {
  return item.fold ? 1 : Math.min(STRESS_MAX, 0.8 + 0.1 * Math.log2(1 + weight));
}

/** Keys of all items at most so many steps from one, whatever the direction of the edges. */
export function within({ items, all }: Scene, start: number, steps: number): Set<string> {
  const near = new Uint8Array(items.length);
  if (start >= 0) near[start] = 1;
  for (let step = 1; step <= steps; step++) {
    for (let at = 0; at < all.pairs.length; at += 2) {
      const [from, to] = [all.pairs[at] ?? 0, all.pairs[at + 1] ?? 0];
      // Marks of this step must not lead on within it.
      if (near[from] && (near[from] ?? 0) <= step && !near[to]) near[to] = step + 1;
      else if (near[to] && (near[to] ?? 0) <= step && !near[from]) near[from] = step + 1;
    }
  }
  const keys = new Set<string>();
  for (const [place, item] of items.entries()) if (near[place]) keys.add(item.key);
  return keys;
}

export interface Near {
  place: number;
  weight: number; // links between them
}

/** All neighbours of an item, drawn or not, those with the most links first. */
export function neighbours({ all }: Scene, place: number): Near[] {
  const found = new Map<number, number>();
  for (let edge = 0; edge < all.weights.length; edge++) {
    const [from, to] = [all.pairs[2 * edge] ?? 0, all.pairs[2 * edge + 1] ?? 0];
    if (from !== place && to !== place) continue;
    const other = from === place ? to : from;
    found.set(other, (found.get(other) ?? 0) + (all.weights[edge] ?? 0));
  }
  return [...found].map(([other, weight]) => ({ place: other, weight })).sort((a, b) => b.weight - a.weight);
}
