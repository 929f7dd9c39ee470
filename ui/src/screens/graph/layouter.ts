/** The page's side of the layouts: gives the worker what is new, remembers where everything stands. */
import type { Kind } from "./address";
import type { Ask, Batch, Lines, Nest, Tell } from "./protocol";
import type { Scene } from "./scene";

export interface Situation {
  kind: Kind;
  live: boolean; // more is coming
  held: boolean; // its edges are still being read
}

interface Told {
  keys: string[]; // by slot
  slots: Map<string, number>;
  places: Float32Array;
}

const nothing = (): Told => ({ keys: [], slots: new Map(), places: new Float32Array(0) });

export interface Post {
  postMessage(ask: Ask): void;
  terminate(): void;
}

export class Layouter {
  settled = false;
  added = 0; // nodes since everything was laid out together
  private epoch = 0;
  private kind: Kind | null = null;
  private told: Record<Kind, Told> = { discovery: nothing(), links: nothing() };
  private readonly communities = new Map<string, number>();
  private edges = 0;
  private held = false;
  private nest: Nest | null = null; // of the picture of groups that was asked for last
  private tidied = 0; // nodes in it when it was last laid out as a whole

  constructor(
    private readonly worker: Post,
    private readonly placed: (keys: readonly string[], places: Float32Array, tell: Tell, nest: Nest | null) => void,
  ) {}

  /** An answer of the worker. */
  hear(tell: Tell): void {
    if (tell.epoch !== this.epoch || !this.kind) return;
    const told = this.told[this.kind];
    // Slots that were added since it spoke are not in it yet, and its next word is on its way.
    this.settled = tell.settled && tell.places.length === 2 * told.keys.length;
    told.places = tell.places;
    this.placed(told.keys, tell.places, tell, this.nest);
  }

  show(scene: Scene, { kind, live, held }: Situation): void {
    if (scene.areas.length) {
      this.showNest(scene, kind, held);
      return;
    }
    if (this.nest) this.kind = null; // it was a picture of groups, and begins anew
    this.nest = null;
    const told = this.told[kind];
    const vanished = told.keys.length - scene.items.filter((item) => told.slots.has(item.key)).length;
    if (kind !== this.kind || vanished > 0) {
      this.begin(scene, { kind, live, held });
      return;
    }
    const fresh = scene.items.filter((item) => !told.slots.has(item.key));
    if (!fresh.length && scene.edges.pairs.length === this.edges && held === this.held) return;
    for (const item of fresh) told.slots.set(item.key, told.keys.push(item.key) - 1);
    this.added += fresh.length;
    this.send({
      do: "add",
      epoch: this.epoch,
      held,
      batch: this.batch(scene, fresh, told, null),
      lines: this.lines(scene, told),
    });
  }

  tidy(live: boolean): void {
    this.settled = false;
    this.added = 0;
    this.tidied = this.nest ? sum(this.nest.counts) : 0;
    this.worker.postMessage({ do: "tidy", epoch: this.epoch, live });
  }

  kill(): void {
    this.worker.terminate();
  }

  /** All of it, each time: it has few items, and the worker knows where they lie. */
  private showNest(scene: Scene, kind: Kind, held: boolean): void {
    const nest = nestOf(scene);
    const { pairs, weights } = scene.all;
    const same = kind === this.kind && this.nest && alike(this.nest, nest);
    if (same && held === this.held && pairs.length === this.edges) return;
    const nodes = sum(nest.counts);
    if (!this.nest || kind !== this.kind) this.tidied = nodes;
    this.added = nodes - this.tidied;
    this.told[kind] = { keys: [...nest.keys], slots: new Map(), places: new Float32Array(0) };
    this.kind = kind;
    this.nest = nest;
    this.epoch += 1;
    this.send({ do: "nest", epoch: this.epoch, kind, held, nest, lines: { pairs, weights } });
  }

  private begin(scene: Scene, { kind, live, held }: Situation): void {
    const before = this.told[kind];
    const told = nothing();
    for (const item of scene.items) told.slots.set(item.key, told.keys.push(item.key) - 1);
    this.told[kind] = told;
    this.kind = kind;
    this.epoch += 1;
    this.added = 0;
    const known = before.places.length ? before : null;
    const batch = this.batch(scene, scene.items, told, known);
    this.send({ do: "begin", epoch: this.epoch, kind, live, held, batch, lines: this.lines(scene, told) });
  }

  private send(ask: Ask & { held: boolean; lines: Lines }): void {
    this.settled = false;
    this.held = ask.held;
    this.edges = ask.lines.pairs.length;
    this.worker.postMessage(ask);
  }

  private batch(scene: Scene, items: Scene["items"], told: Told, before: Told | null): Batch {
    const parents = new Int32Array(items.length);
    const depths = new Int32Array(items.length);
    const communities = new Int32Array(items.length);
    const known = before ? new Float32Array(2 * items.length).fill(Number.NaN) : null;
    const seeds = seedsOf(scene);
    for (const [place, item] of items.entries()) {
      const above = scene.items[item.parent]?.key ?? seeds.get(item.group);
      parents[place] = above === undefined || above === item.key ? -1 : (told.slots.get(above) ?? -1);
      depths[place] = item.node.depth;
      communities[place] = this.community(item.group);
      const slot = before?.slots.get(item.key);
      if (!before || !known || slot === undefined) continue;
      known[2 * place] = before.places[2 * slot] ?? Number.NaN;
      known[2 * place + 1] = before.places[2 * slot + 1] ?? Number.NaN;
    }
    return { parents, depths, communities, known };
  }

  private lines(scene: Scene, told: Told): Lines {
    const slots = scene.items.map((item) => told.slots.get(item.key) ?? 0);
    return { pairs: scene.edges.pairs.map((place) => slots[place] ?? 0), weights: scene.edges.weights };
  }

  private community(group: string): number {
    const found = this.communities.get(group);
    if (found !== undefined) return found;
    this.communities.set(group, this.communities.size);
    return this.communities.size - 1;
  }
}

export function nestOf({ items, areas }: Scene): Nest {
  return {
    keys: items.map((item) => item.key),
    areas: Int32Array.from(items, (item) => item.area),
    counts: Float32Array.from(items, (item) => item.fold?.count ?? 1),
    names: areas.map((area) => area.name),
    above: Int32Array.from(areas, (area) => area.parent),
  };
}

function alike(a: Nest, b: Nest): boolean {
  const same = (one: ArrayLike<unknown>, other: ArrayLike<unknown>) =>
    one.length === other.length && Array.prototype.every.call(one, (each, place) => each === other[place]);
  return same(a.keys, b.keys) && same(a.names, b.names) && same(a.areas, b.areas);
}

const sum = (numbers: Float32Array) => numbers.reduce((all, each) => all + each, 0);

/** What came from a sitemap was found on no page: it stands with the seed of its host, or of its folder. */
function seedsOf(scene: Scene): Map<string, string> {
  const seeds = new Map<string, string>();
  for (const item of scene.items) {
    if (item.node.depth === 0 && !seeds.has(item.group)) seeds.set(item.group, item.key);
  }
  return seeds;
}
