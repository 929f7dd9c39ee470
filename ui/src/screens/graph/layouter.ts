/** The page's side of the layouts: gives the worker what is new, remembers where everything stands. */
import type { Kind } from "./address";
import type { Ask, Batch, Lines, Tell } from "./protocol";
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

  constructor(
    private readonly worker: Post,
    private readonly placed: (keys: readonly string[], places: Float32Array, tell: Tell) => void,
  ) {}

  /** An answer of the worker. */
  hear(tell: Tell): void {
    if (tell.epoch !== this.epoch || !this.kind) return;
    const told = this.told[this.kind];
    // Slots that were added since it spoke are not in it yet, and its next word is on its way.
    this.settled = tell.settled && tell.places.length === 2 * told.keys.length;
    told.places = tell.places;
    this.placed(told.keys, tell.places, tell);
  }

  show(scene: Scene, { kind, live, held }: Situation): void {
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
    this.worker.postMessage({ do: "tidy", epoch: this.epoch, live });
  }

  kill(): void {
    this.worker.terminate();
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

/** What came from a sitemap was found on no page: it stands with the seed of its host, or of its folder. */
function seedsOf(scene: Scene): Map<string, string> {
  const seeds = new Map<string, string>();
  for (const item of scene.items) {
    if (item.node.depth === 0 && !seeds.has(item.group)) seeds.set(item.group, item.key);
  }
  return seeds;
}
