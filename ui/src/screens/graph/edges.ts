/** Which edges there are between the items, each pair once with the links it stands for, and which of them are drawn. */
import type { GraphNode } from "../../api/types";
import type { Folded } from "./fold";

export const EDGES_MAX = 20_000;
const GROUPED_MIN = 60; // lines of a picture of groups, however few they are
const GROUPED_EACH = 1; // and for each of its items: a group is linked with nearly every other

export interface Bundles {
  pairs: Int32Array; // from, to, from, to
  weights: Float32Array; // links that each stands for
}

export interface AllEdges extends Bundles {
  inside: number; // links that begin and end in the same group, which no line shows
}

type Out = readonly (Int32Array | undefined)[];

/** From the page each was found on. */
export function discoveryEdges(
  nodes: readonly GraphNode[],
  indexOf: (id: number) => number | undefined,
  folded: Folded,
): AllEdges {
  return bundled(folded, nodes.length, (add) => {
    for (const [index, node] of nodes.entries()) {
      const parent = node.parent === null ? undefined : indexOf(node.parent);
      if (parent !== undefined) add(parent, index);
    }
  });
}

/** Every link that is known. */
export function linkEdges(out: Out, links: number, folded: Folded): AllEdges {
  return bundled(folded, links, (add) => {
    for (const [source, targets] of out.entries()) {
      if (!targets) continue;
      for (const target of targets) add(source, target);
    }
  });
}

type Add = (from: number, to: number) => void;

/** Numbers that are sorted instead of objects in a map: 400,000 links take 3 MB for a moment, and nothing per link. */
function bundled({ at, items, areas }: Folded, most: number, fill: (add: Add) => void): AllEdges {
  const order = Math.max(1, items.length);
  const keys = new Float64Array(most);
  const directed = !areas.length; // between groups, links lead both ways
  let found = 0;
  let inside = 0;
  fill((source, target) => {
    const [from, to] = [at[source] ?? -1, at[target] ?? -1];
    if (from < 0 || to < 0 || found >= most) return;
    if (from === to) inside += 1;
    else keys[found++] = directed || from < to ? from * order + to : to * order + from;
  });
  const sorted = keys.subarray(0, found).sort();
  let different = 0;
  for (let each = 0; each < found; each++) if (each === 0 || sorted[each] !== sorted[each - 1]) different += 1;
  const pairs = new Int32Array(2 * different);
  const weights = new Float32Array(different);
  let edge = -1;
  for (let each = 0; each < found; each++) {
    const key = sorted[each] ?? 0;
    if (each === 0 || key !== sorted[each - 1]) {
      edge += 1;
      pairs[2 * edge] = Math.floor(key / order);
      pairs[2 * edge + 1] = key % order;
    }
    weights[edge] = (weights[edge] ?? 0) + 1;
  }
  return { pairs, weights, inside };
}

/** How many lines a picture of so many items has at most. */
export function linesMax(items: number, grouped: boolean): number {
  return grouped ? Math.min(EDGES_MAX, Math.max(GROUPED_MIN, GROUPED_EACH * items)) : EDGES_MAX;
}

const ONE_END = 1e12;
const BEST = 1e9;

/**
 * The edges that are drawn: those that stand for the most links; of alike ones, those whose ends have the fewest others,
 * because a link to the menu says nothing. The best one of each item comes first, so that nothing looks unconnected
 * that is not. With `seen`, only what has an end that is seen, and first what has both.
 */
export function strongest(all: Bundles, items: number, most: number, seen: Uint8Array | null = null): Bundles {
  const edges = all.weights.length;
  if (edges <= most && !seen) return { pairs: all.pairs, weights: all.weights };
  const scores = scored(all, items, seen);
  const wanted = scores.filter((score) => score > 0).sort();
  const bar = wanted.length > most ? (wanted[wanted.length - most] ?? 0) : 0;
  const kept: number[] = [];
  let equal = most - wanted.filter((score) => score > bar).length;
  for (let edge = 0; edge < edges; edge++) {
    const score = scores[edge] ?? 0;
    if (score > bar) kept.push(edge);
    else if (score === bar && bar > 0 && equal-- > 0) kept.push(edge);
  }
  return {
    pairs: Int32Array.from(kept.flatMap((edge) => [all.pairs[2 * edge] ?? 0, all.pairs[2 * edge + 1] ?? 0])),
    weights: Float32Array.from(kept, (edge) => all.weights[edge] ?? 0),
  };
}

function scored({ pairs, weights }: Bundles, items: number, seen: Uint8Array | null): Float64Array {
  const others = new Uint32Array(items);
  for (const item of pairs) others[item] = (others[item] ?? 0) + 1;
  const scores = new Float64Array(weights.length);
  const best = new Int32Array(items).fill(-1);
  for (let edge = 0; edge < weights.length; edge++) {
    const [from, to] = [pairs[2 * edge] ?? 0, pairs[2 * edge + 1] ?? 0];
    const ends = seen ? (seen[from] ?? 0) + (seen[to] ?? 0) : 1;
    if (!ends) continue;
    const own = (weights[edge] ?? 0) + 1 / (1 + (others[from] ?? 0) + (others[to] ?? 0));
    scores[edge] = own + (seen ? (ends - 1) * ONE_END : 0);
    for (const item of [from, to]) {
      const before = best[item] ?? -1;
      if (before < 0 || (scores[edge] ?? 0) > (scores[before] ?? 0)) best[item] = edge;
    }
  }
  for (const edge of best) if (edge >= 0) scores[edge] = (scores[edge] ?? 0) + BEST;
  return scores;
}
