/**
 * The discovery tree in rings: each depth has one, each node a wedge that holds all that was found from it, as wide as
 * it has leaves. What is new is placed into the wedge of its parent; what stands stays. Only `tidy` moves anything.
 */
import type { Batch, Layout } from "./protocol";

const CIRCLE = 2 * Math.PI;
const SPACE = 1; // between two nodes of a ring
export const GAP = 10; // between two rings
const ROWS_MIN = 6; // in which a crowded ring may stand, within the gap
const LATER = 0.1; // of a wedge, kept for what is found there later while the crawl runs
const LATER_ROOTS = 0.04;

interface Ring {
  radius: number;
  rows: number;
}

export class Radial implements Layout {
  readonly settled = true;
  private readonly parents: number[] = [];
  private readonly depths: number[] = [];
  private readonly rings: number[] = []; // the number of the ring of each node
  private readonly from: number[] = []; // its wedge
  private readonly to: number[] = [];
  private readonly free: number[] = []; // where the unused part of its wedge begins
  private readonly radii: number[] = []; // of each node: its row within the ring
  private readonly filled: number[] = []; // nodes in each ring so far
  private table: Ring[] = [];
  private freeRoots = 0;

  constructor(private live: boolean) {}

  get order(): number {
    return this.parents.length;
  }

  wedge(slot: number): readonly [number, number] {
    return [this.from[slot] ?? 0, this.to[slot] ?? 0];
  }

  radius(slot: number): number {
    return this.radii[slot] ?? 0;
  }

  add(batch: Batch): void {
    const first = this.order;
    for (const [place, parent] of batch.parents.entries()) {
      this.parents.push(parent);
      this.depths.push(batch.depths[place] ?? 0);
    }
    if (first === 0) this.tidy(this.live);
    else this.place(first);
  }

  link(): void {
    // A tree has its edges from the parents.
  }

  step(): void {
    // There is nothing to come closer to.
  }

  tidy(live: boolean): void {
    this.live = live;
    this.freeRoots = 0;
    for (const list of [this.rings, this.from, this.to, this.free, this.radii, this.filled]) list.length = 0;
    this.table = [];
    this.place(0);
  }

  places(): Float32Array {
    const places = new Float32Array(2 * this.order);
    for (let slot = 0; slot < this.order; slot++) {
      const angle = ((this.from[slot] ?? 0) + (this.to[slot] ?? 0)) / 2;
      const radius = this.radii[slot] ?? 0;
      places[2 * slot] = radius * Math.cos(angle);
      places[2 * slot + 1] = radius * Math.sin(angle);
    }
    return places;
  }

  /** Those from `first` on; parents before children, whatever order they came in. */
  private place(first: number): void {
    const { ordered, children, roots } = descent(this.parents, first);
    const leaves = leafCounts(this.parents, ordered, children);
    for (const slot of ordered) this.rings[slot] = this.ringOf(slot, roots.has(slot));
    this.widen(ordered);
    const top = [...roots];
    this.share(top, -1, leaves);
    for (const slot of this.withNew(ordered, first)) this.share(children.get(slot) ?? [], slot, leaves);
  }

  /** Old nodes that got children, then new ones in order: each is placed before what it holds. */
  private *withNew(ordered: readonly number[], first: number): Generator<number> {
    const old = new Set<number>();
    for (const slot of ordered) {
      const parent = this.parents[slot] ?? -1;
      if (parent >= 0 && parent < first) old.add(parent);
    }
    yield* old;
    yield* ordered;
  }

  private ringOf(slot: number, root: boolean): number {
    const depth = this.depths[slot] ?? 0;
    const above = root ? -1 : (this.rings[this.parents[slot] ?? -1] ?? -1);
    return Math.max(depth, above + 1); // a redirect has the depth of what it came from, and stands outside of it
  }

  /** Rings that are not there yet get their radius, and as many rows as the nodes need that are known now. */
  private widen(slots: readonly number[]): void {
    const counts: number[] = [];
    for (const slot of slots) {
      const ring = this.rings[slot] ?? 0;
      counts[ring] = (counts[ring] ?? 0) + 1;
    }
    for (let ring = this.table.length; ring < counts.length; ring++) {
      const inner = this.table.at(-1);
      const nodes = counts[ring] ?? 0;
      const alone = ring === 0 && nodes <= 1;
      const radius = inner ? inner.radius + Math.max(0, inner.rows - ROWS_MIN) * SPACE + GAP : alone ? 0 : GAP;
      const thickness = Math.sqrt(radius * radius + (nodes * SPACE * SPACE) / Math.PI) - radius;
      this.table.push({ radius, rows: Math.max(ROWS_MIN, Math.ceil(thickness / SPACE)) });
    }
  }

  /** Divides the free part of a wedge by leaves. */
  private share(slots: readonly number[], parent: number, leaves: readonly number[]): void {
    if (!slots.length) return;
    const root = parent < 0;
    const begin = root ? this.freeRoots : (this.free[parent] ?? 0);
    const start = root ? 0 : (this.from[parent] ?? 0);
    const end = root ? CIRCLE : (this.to[parent] ?? 0);
    const fresh = begin <= start;
    const later = root ? LATER_ROOTS : LATER;
    const width = (end - begin) * (fresh ? 1 - (this.live ? later : 0) : 0.5);
    const total = slots.reduce((all, slot) => all + (leaves[slot] ?? 1), 0);
    let at = begin;
    for (const slot of slots) {
      const part = (width * (leaves[slot] ?? 1)) / total;
      this.from[slot] = at;
      this.to[slot] = at + part;
      this.free[slot] = at;
      this.radii[slot] = this.row(slot, width / slots.length);
      at += part;
    }
    if (root) this.freeRoots = at;
    else this.free[parent] = at;
  }

  /** Where siblings would touch each other they stand in several rows. */
  private row(slot: number, angle: number): number {
    const ring = this.rings[slot] ?? 0;
    const { radius, rows } = this.table[ring] ?? { radius: 0, rows: 1 };
    const place = this.filled[ring] ?? 0;
    this.filled[ring] = place + 1;
    if (radius === 0) return place === 0 ? 0 : GAP / 3; // the centre is for one
    const needed = Math.min(rows, Math.ceil(SPACE / Math.max(angle * radius, 1e-9)));
    return radius + (place % needed) * SPACE;
  }
}

/** The new nodes so that parents come first. One whose parent is unknown, or in a circle, is a root. */
function descent(parents: readonly number[], first: number) {
  const children = new Map<number, number[]>();
  const roots = new Set<number>();
  for (let slot = first; slot < parents.length; slot++) {
    const parent = parents[slot] ?? -1;
    if (parent < 0 || parent === slot) roots.add(slot);
    else push(children, parent, slot);
  }
  const ordered: number[] = [];
  const seen = new Set<number>();
  const visit = (begin: Iterable<number>) => {
    const queue = [...begin].filter((slot) => !seen.has(slot));
    for (const slot of queue) seen.add(slot);
    for (let at = 0; at < queue.length; at++) {
      const slot = queue[at] ?? -1;
      ordered.push(slot);
      for (const child of children.get(slot) ?? []) {
        if (seen.has(child)) continue;
        seen.add(child);
        queue.push(child);
      }
    }
  };
  visit(roots);
  for (const [parent, found] of children) if (parent < first) visit(found);
  for (let slot = first; slot < parents.length; slot++) {
    if (seen.has(slot)) continue;
    roots.add(slot);
    const siblings = children.get(parents[slot] ?? -1);
    siblings?.splice(siblings.indexOf(slot), 1);
    visit([slot]);
  }
  return { ordered, children, roots };
}

function push(children: Map<number, number[]>, parent: number, slot: number): void {
  const found = children.get(parent);
  if (found) found.push(slot);
  else children.set(parent, [slot]);
}

function leafCounts(
  parents: readonly number[],
  ordered: readonly number[],
  children: ReadonlyMap<number, readonly number[]>,
): number[] {
  const leaves: number[] = [];
  for (let at = ordered.length - 1; at >= 0; at--) {
    const slot = ordered[at] ?? -1;
    if (!children.get(slot)?.length) leaves[slot] = 1;
    const parent = parents[slot] ?? -1;
    if (parent >= 0) leaves[parent] = (leaves[parent] ?? 0) + (leaves[slot] ?? 1);
  }
  return leaves;
}
