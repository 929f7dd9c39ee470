/** What is to be drawn, and how it looks: made from the data by pure functions, drawn by the picture. */
import type { Edges } from "./edges";
import type { Folded, Item } from "./fold";

export interface Scene {
  items: readonly Item[];
  edges: Edges;
}

export interface Look {
  colour: (item: Item) => string;
  size: (item: Item, place: number) => number;
  hidden: ReadonlySet<string>; // keys
}

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

/** The more there are, the smaller each is. */
export function baseSize(order: number): number {
  if (order > LARGE) return 1.6;
  if (order > MEDIUM) return 2.2;
  return order > SMALL ? 3 : 4.5;
}

export function sizeOf(item: Item, weight: number, order: number): number {
  const base = baseSize(order);
  if (item.fold) return base * Math.min(2 * TIMES_MAX, 2 + 0.6 * Math.log2(1 + item.fold.count));
  return base * Math.min(TIMES_MAX, 1 + 0.35 * Math.log2(1 + weight));
}

/** Keys of all items at most so many steps from one, whatever the direction of the edges. */
export function within({ items, edges }: Scene, start: number, steps: number): Set<string> {
  const near = new Uint8Array(items.length);
  if (start >= 0) near[start] = 1;
  for (let step = 1; step <= steps; step++) {
    for (let at = 0; at < edges.pairs.length; at += 2) {
      const [from, to] = [edges.pairs[at] ?? 0, edges.pairs[at + 1] ?? 0];
      // Marks of this step must not lead on within it.
      if (near[from] && (near[from] ?? 0) <= step && !near[to]) near[to] = step + 1;
      else if (near[to] && (near[to] ?? 0) <= step && !near[from]) near[from] = step + 1;
    }
  }
  const keys = new Set<string>();
  for (const [place, item] of items.entries()) if (near[place]) keys.add(item.key);
  return keys;
}
