/**
 * A large graph as a map: each group is a disc in the disc of the group around it, as large as it holds nodes. What lies
 * in an opened group is laid out by forces, by itself, and fitted into its disc: opening one moves nothing else, and what
 * lies in it is nowhere else. Every group is laid out once; only `tidy` does it again.
 */
import { strongest } from "./edges";
import { Force } from "./force";
import type { Lines, Nest } from "./protocol";
import { packed } from "./seeds";
import { type Disc, fitted, gathered, spread } from "./spread";

export const WHOLE_RADIUS = 1000;
const SMALLEST = 0.06; // of the largest radius in the same group: a square root alone would leave nothing of small ones
const LINKS_EACH = 8; // that pull at one item of a group
const PULL = 7;
const WORK_MS = 2500; // for one group: a layout that is not perfect is there in time
const EVEN = 0.7; // how much the even order counts against the forces
const FAR = 1.3; // what the discs need: nothing is farther out
const GATHERED_MAX = 300; // items that are pulled together; more of them fill their disc anyway
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** One opened group: where everything in it lies, in the disc around 0 with radius 1. */
type Inside = Map<string, Disc>;

interface Job {
  name: string;
  keys: string[];
  radii: number[];
  force: Force;
  until: number; // 0: not begun
}

export const areaKey = (name: string) => `+${name}`;

export class Nested {
  fresh = false; // places have changed since they were told
  private nest: Nest = {
    keys: [],
    areas: new Int32Array(),
    counts: new Float32Array(),
    names: [],
    above: new Int32Array(),
  };
  private lines: Lines = { pairs: new Int32Array(), weights: new Float32Array() };
  private readonly known = new Map<string, Inside>();
  private jobs: Job[] = [];
  private held = false;

  constructor(private readonly now: () => number) {}

  get order(): number {
    return this.nest.keys.length;
  }

  get settled(): boolean {
    return !this.jobs.length;
  }

  /** `held`: links are still being read. Where groups lie without them is only for the meantime. */
  arrange(nest: Nest, lines: Lines, held: boolean): void {
    if (this.held && !held) this.known.clear();
    this.held = held;
    this.nest = nest;
    this.lines = lines;
    // A group that is closed before it is laid out begins anew when it is opened again.
    for (const job of this.jobs) if (!nest.names.includes(job.name)) this.known.delete(job.name);
    this.jobs = this.jobs.filter((job) => nest.names.includes(job.name));
    this.lay();
  }

  tidy(): void {
    this.known.clear();
    this.jobs = [];
    this.lay();
  }

  step(): void {
    const job = this.jobs[0];
    if (!job) return;
    if (!job.until) job.until = this.now() + WORK_MS;
    if (!job.force.settled) job.force.step();
    if (!job.force.settled && this.now() < job.until) return;
    this.jobs.shift();
    this.finish(job);
    this.fresh = true;
  }

  /** x, y of every slot. */
  places(): Float32Array {
    const places = new Float32Array(2 * this.order);
    for (const [slot, { x, y }] of this.discs().entries()) places.set([x, y], 2 * slot);
    return places;
  }

  radii(): Float32Array {
    return Float32Array.from(this.discs(), ({ radius }) => radius);
  }

  /** x, y, radius of every area. */
  areas(): Float32Array {
    return Float32Array.from(this.areaDiscs().flatMap(({ x, y, radius }) => [x, y, radius]));
  }

  private discs(): Disc[] {
    const around = this.areaDiscs();
    return this.nest.keys.map((key, slot) => {
      const area = this.nest.areas[slot] ?? 0;
      return placed(around[area], this.known.get(this.nest.names[area] ?? "")?.get(key));
    });
  }

  private areaDiscs(): Disc[] {
    const found: Disc[] = [];
    for (const [area, name] of this.nest.names.entries()) {
      const above = this.nest.above[area] ?? -1;
      const own = this.known.get(this.nest.names[above] ?? "")?.get(areaKey(name));
      found.push(above < 0 ? { x: 0, y: 0, radius: WHOLE_RADIUS } : placed(found[above], own));
    }
    return found;
  }

  private lay(): void {
    const inside = this.contents();
    for (const [area, name] of this.nest.names.entries()) {
      const { keys, counts } = inside[area] ?? { keys: [], counts: [] };
      const known = this.known.get(name);
      if (known) this.join(known, keys, counts);
      else this.begin(area, name, keys, counts);
    }
    this.fresh = true;
  }

  /** What lies right in each area: slots, and areas as what they hold in all. */
  private contents(): { keys: string[]; counts: number[] }[] {
    const { keys, areas, counts, names, above } = this.nest;
    const found = names.map(() => ({ keys: [] as string[], counts: [] as number[] }));
    const sums = new Float64Array(names.length);
    const add = (area: number, key: string, count: number) => {
      found[area]?.keys.push(key);
      found[area]?.counts.push(count);
      sums[area] = (sums[area] ?? 0) + count;
    };
    for (const [slot, key] of keys.entries()) add(areas[slot] ?? 0, key, counts[slot] ?? 1);
    for (let area = names.length - 1; area > 0; area--) {
      add(above[area] ?? 0, areaKey(names[area] ?? ""), sums[area] ?? 0);
    }
    return found;
  }

  private begin(area: number, name: string, keys: string[], counts: number[]): void {
    const radii = radiiOf(counts);
    const order = radii.map((_, place) => place).sort((a, b) => (radii[b] ?? 0) - (radii[a] ?? 0));
    const discs: Disc[] = [];
    for (const [rank, disc] of packed(order.map((place) => radii[place] ?? 0)).entries())
      discs[order[rank] ?? 0] = disc;
    this.keep(name, keys, discs);
    if (this.held || keys.length < 3) return;
    const lines = this.inner(area, keys);
    if (lines.weights.length) this.jobs.push({ name, keys, radii, force: forceOf(keys.length, lines), until: 0 });
  }

  /** Edges between what lies right in an area: of what lies deeper, they are those of the area that it lies in. */
  private inner(area: number, keys: readonly string[]): Lines {
    const place = new Map(keys.map((key, at) => [key, at]));
    const { names, above, areas } = this.nest;
    const upper = names.map((_, each) => {
      let inmost = each;
      while (inmost >= 0 && above[inmost] !== area) inmost = above[inmost] ?? -1;
      return inmost < 0 ? -1 : (place.get(areaKey(names[inmost] ?? "")) ?? -1);
    });
    const ends = this.nest.keys.map((key, slot) => {
      const own = areas[slot] ?? 0;
      return own === area ? (place.get(key) ?? -1) : (upper[own] ?? -1);
    });
    return summed(this.lines, ends, keys.length);
  }

  private finish({ name, keys, radii, force }: Job): void {
    const places = force.places();
    const discs = radii.map((radius, at) => ({ x: places[2 * at] ?? 0, y: places[2 * at + 1] ?? 0, radius }));
    evened(discs);
    if (discs.length <= GATHERED_MAX) gathered(discs);
    else spread(discs);
    this.keep(name, keys, discs);
  }

  private keep(name: string, keys: readonly string[], discs: readonly Disc[]): void {
    const inside: Inside = new Map();
    for (const [at, disc] of fitted(discs).entries()) inside.set(keys[at] ?? "", disc);
    this.known.set(name, inside);
  }

  /** What came later finds a place between what is there, which stays. */
  private join(known: Inside, keys: readonly string[], counts: readonly number[]): void {
    const fresh = keys.flatMap((key, at) => (known.has(key) ? [] : [{ key, count: counts[at] ?? 1 }]));
    if (!fresh.length) return;
    const discs = keys.flatMap((key) => known.get(key) ?? []);
    const there = discs.length;
    const smallest = discs.reduce((least, { radius }) => Math.min(least, radius), 0.1);
    const radii = radiiOf(fresh.map(({ count }) => count));
    const largest = radii.reduce((most, radius) => Math.max(most, radius), 0);
    for (const [at, { key }] of fresh.entries()) {
      const radius = (smallest * (radii[at] ?? 1)) / largest;
      const away = Math.sqrt((at + 0.5) / fresh.length);
      const disc = { x: away * Math.cos(at * GOLDEN), y: away * Math.sin(at * GOLDEN), radius };
      known.set(key, disc);
      discs.push(disc);
    }
    spread(discs, (place) => place < there);
  }
}

function placed(around: Disc | undefined, inside: Disc | undefined): Disc {
  const { x, y, radius } = around ?? { x: 0, y: 0, radius: 1 };
  const own = inside ?? { x: 0, y: 0, radius: 0.01 };
  return { x: x + radius * own.x, y: y + radius * own.y, radius: radius * own.radius };
}

export function radiiOf(counts: readonly number[]): number[] {
  const radii = counts.map((count) => Math.sqrt(Math.max(1, count)));
  const largest = radii.reduce((most, radius) => Math.max(most, radius), 0);
  return radii.map((radius) => Math.max(radius, SMALLEST * largest));
}

/** Between two of them: the links there are, by those that either has. */
function summed({ pairs, weights }: Lines, ends: readonly number[], order: number): Lines {
  const sums = new Map<number, number>();
  const strengths = new Float64Array(order);
  for (let edge = 0; edge < weights.length; edge++) {
    const [a, b] = [ends[pairs[2 * edge] ?? -1] ?? -1, ends[pairs[2 * edge + 1] ?? -1] ?? -1];
    if (a < 0 || b < 0 || a === b) continue;
    const weight = weights[edge] ?? 1;
    const key = Math.min(a, b) * order + Math.max(a, b);
    sums.set(key, (sums.get(key) ?? 0) + weight);
    strengths[a] = (strengths[a] ?? 0) + weight;
    strengths[b] = (strengths[b] ?? 0) + weight;
  }
  const all = { pairs: new Int32Array(2 * sums.size), weights: new Float32Array(sums.size) };
  let edge = 0;
  for (const [key, weight] of sums) {
    const [a, b] = [Math.floor(key / order), key % order];
    all.pairs.set([a, b], 2 * edge);
    all.weights[edge++] = (PULL * weight) / Math.sqrt((strengths[a] ?? 1) * (strengths[b] ?? 1));
  }
  return strongest(all, order, LINKS_EACH * order);
}

function forceOf(order: number, lines: Lines): Force {
  const force = new Force();
  const none = new Int32Array(order);
  force.add({ parents: none.fill(-1), depths: new Int32Array(order), communities: new Int32Array(order), known: null });
  force.link(lines);
  return force;
}

/**
 * As large as its discs need. Forces leave a crowd in the middle and a few far out: by their order from the middle all
 * would be spread evenly, and mostly they are.
 */
function evened(discs: readonly Disc[]): void {
  const [x, y] = [mean(discs, (disc) => disc.x), mean(discs, (disc) => disc.y)];
  const away = discs.map((disc) => Math.hypot(disc.x - x, disc.y - y));
  const typical = mean(discs, (disc) => Math.hypot(disc.x - x, disc.y - y)) || 1;
  const need = Math.sqrt(discs.reduce((all, { radius }) => all + radius * radius, 0));
  const order = away.map((_, place) => place).sort((a, b) => (away[a] ?? 0) - (away[b] ?? 0));
  for (const [rank, place] of order.entries()) {
    const disc = discs[place];
    const own = away[place] ?? 0;
    if (!disc || own === 0) continue;
    const even = 1.2 * Math.sqrt((rank + 0.5) / discs.length);
    const wanted = need * (EVEN * even + (1 - EVEN) * Math.min(FAR, 0.8 * (own / typical)));
    disc.x = ((disc.x - x) * wanted) / own;
    disc.y = ((disc.y - y) * wanted) / own;
  }
}

function mean(discs: readonly Disc[], of: (disc: Disc) => number): number {
  return discs.reduce((all, disc) => all + of(disc), 0) / Math.max(1, discs.length);
}
