/** Which edges are drawn between the items, as pairs of their numbers, each pair once. */
import type { GraphNode } from "../../api/types";
import type { Folded } from "./fold";

export const EDGES_MAX = 150_000;

export interface Edges {
  pairs: Int32Array; // from, to, from, to
  weights: Float32Array; // links that each stands for
  left: number; // that are not drawn
}

type Out = readonly (Int32Array | undefined)[];

/** From the page each was found on. */
export function discoveryEdges(
  nodes: readonly GraphNode[],
  indexOf: (id: number) => number | undefined,
  { at, items, groups }: Folded,
): Edges {
  return collected(items.length, groups.length > 0, (add) => {
    for (const [index, node] of nodes.entries()) {
      const parent = node.parent === null ? undefined : indexOf(node.parent);
      if (parent !== undefined) add(at[parent] ?? -1, at[index] ?? -1);
    }
  });
}

/** Every link that is known; beyond the bound each page keeps as many of its own as fit, the same number for all. */
export function linkEdges(out: Out, { at, items, groups }: Folded, bound = EDGES_MAX): Edges {
  const lengths = out.map((targets) => targets?.length ?? 0);
  const most = fairShare(lengths, bound);
  const edges = collected(items.length, groups.length > 0, (add) => {
    for (const [source, targets] of out.entries()) {
      if (!targets) continue;
      const kept = Math.min(targets.length, most);
      for (let each = 0; each < kept; each++) add(at[source] ?? -1, at[targets[each] ?? -1] ?? -1);
    }
  });
  edges.left = lengths.reduce((all, length) => all + Math.max(0, length - most), 0);
  return edges;
}

/** The largest number that each may have so that all together have at most `bound`. */
export function fairShare(lengths: readonly number[], bound: number): number {
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  let low = 0;
  let high = longest;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const all = lengths.reduce((sum, length) => sum + Math.min(length, middle), 0);
    if (all <= bound) low = middle;
    else high = middle - 1;
  }
  return low;
}

type Add = (from: number, to: number) => void;

/** Where nothing is folded, no two edges are the same, and nothing need be remembered. */
function collected(items: number, folded: boolean, fill: (add: Add) => void): Edges {
  const known = new Map<number, number>();
  const pairs: number[] = [];
  const weights: number[] = [];
  fill((from, to) => {
    if (from < 0 || to < 0 || from === to) return;
    const place = folded ? known.get(from * items + to) : undefined;
    if (place === undefined) {
      if (folded) known.set(from * items + to, weights.length);
      weights.push(1);
      pairs.push(from, to);
    } else {
      weights[place] = (weights[place] ?? 0) + 1;
    }
  });
  return { pairs: Int32Array.from(pairs), weights: Float32Array.from(weights), left: 0 };
}
