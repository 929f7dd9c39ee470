/** Where a force layout begins: each community a disc of its own, the largest in the middle, none over another. */
import type { Disc } from "./spread";

const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const CIRCLE = 2 * Math.PI;
const BETWEEN = 1.25; // discs are so much wider than their nodes need

/** Discs of these radii in rings around the first; give them from large to small. */
export function packed(radii: readonly number[]): Disc[] {
  const discs: Disc[] = [];
  const first = radii[0];
  if (first === undefined) return discs;
  discs.push({ x: 0, y: 0, radius: first });
  let outer = first;
  let next = 1;
  while (next < radii.length) {
    const widest = radii[next] ?? 0;
    const ring = outer + widest;
    let angle = 0;
    let end = next;
    while (end < radii.length) {
      const part = 2 * Math.asin(Math.min(1, (radii[end] ?? 0) / ring));
      if (end > next && angle + part > CIRCLE) break;
      angle += part;
      end += 1;
    }
    // What is left of the circle goes between the discs.
    const spare = Math.max(0, CIRCLE - angle) / (end - next);
    let at = next * GOLDEN;
    for (; next < end; next++) {
      const radius = radii[next] ?? 0;
      const half = Math.asin(Math.min(1, radius / ring));
      at += half;
      discs.push({ x: ring * Math.cos(at), y: ring * Math.sin(at), radius });
      at += half + spare;
    }
    outer = ring + widest;
  }
  return discs;
}

/** x, y of each node, about `space` from its neighbours. */
export function seeds(communities: Int32Array, space: number): Float32Array {
  const members = new Map<number, number[]>();
  for (const [slot, community] of communities.entries()) {
    const found = members.get(community);
    if (found) found.push(slot);
    else members.set(community, [slot]);
  }
  const ordered = [...members.values()].sort((a, b) => b.length - a.length);
  const discs = packed(ordered.map((slots) => BETWEEN * space * Math.sqrt(slots.length)));
  const places = new Float32Array(2 * communities.length);
  for (const [place, slots] of ordered.entries()) {
    const disc = discs[place];
    if (!disc) continue;
    for (const [at, slot] of slots.entries()) {
      const radius = slots.length === 1 ? 0 : space * Math.sqrt(at + 0.5);
      places[2 * slot] = disc.x + radius * Math.cos(at * GOLDEN);
      places[2 * slot + 1] = disc.y + radius * Math.sin(at * GOLDEN);
    }
  }
  return places;
}
