/** Runs a layout in steps, tells where everything is now and then, and rests as soon as it has settled. */
import { Force } from "./force";
import { Nested } from "./nested";
import type { Ask, Layout, Tell } from "./protocol";
import { Radial } from "./radial";

const PAUSE_MS = 100; // ten pictures a second at most
const LARGE = 5000;
const VERY_LARGE = 20_000;

/** A large graph takes long to draw: its page must have time for the pointer, too. */
export function pauseMs(order: number): number {
  if (order > VERY_LARGE) return 8 * PAUSE_MS;
  return order > LARGE ? 3 * PAUSE_MS : PAUSE_MS;
}

export class Runner {
  private layout: Layout | null = null;
  private nested: { kind: string; map: Nested } | null = null; // instead, for a picture of groups
  private epoch = 0;
  private held = false; // its links are still being read: where it would go without them is of no use
  private waiting = false;

  constructor(
    private readonly tell: (tell: Tell) => void,
    private readonly later: (run: () => void) => void,
    private readonly now: () => number,
  ) {}

  hear(ask: Ask): void {
    if (ask.do === "nest" || (ask.do === "tidy" && this.nested)) {
      this.hearNest(ask);
      return;
    }
    if (ask.do === "begin") {
      this.epoch = ask.epoch;
      this.nested = null;
      this.layout = ask.kind === "links" ? new Force() : new Radial(ask.live);
    }
    const { layout } = this;
    if (!layout || ask.epoch !== this.epoch) return;
    if (ask.do === "tidy") {
      layout.tidy(ask.live);
    } else {
      this.held = ask.held;
      layout.add(ask.batch);
      layout.link(ask.lines);
    }
    this.say(ask.do !== "add");
    this.go();
  }

  /** The map goes on from picture to picture: what it has laid out stays where it is. */
  private hearNest(ask: Extract<Ask, { do: "nest" | "tidy" }>): void {
    if (ask.do === "tidy") {
      if (ask.epoch !== this.epoch) return;
      this.nested?.map.tidy();
      this.say(true);
      this.go();
      return;
    }
    this.epoch = ask.epoch;
    this.held = ask.held;
    this.layout = null;
    if (this.nested?.kind !== ask.kind) this.nested = { kind: ask.kind, map: new Nested(this.now) };
    this.nested.map.arrange(ask.nest, ask.lines, ask.held);
    this.say(false);
    this.go();
  }

  private say(whole: boolean): void {
    const current = this.nested?.map ?? this.layout;
    if (!current) return;
    const settled = current.settled && !this.held;
    const rooms = current instanceof Nested ? { radii: current.radii(), areas: current.areas() } : null;
    if (current instanceof Nested) current.fresh = false;
    this.tell({ epoch: this.epoch, places: current.places(), settled, whole, rooms });
  }

  private go(): void {
    const current = this.nested?.map ?? this.layout;
    if (this.waiting || this.held || !current || current.settled) return;
    this.waiting = true;
    this.later(() => {
      this.waiting = false;
      this.work();
    });
  }

  private work(): void {
    const current = this.nested?.map ?? this.layout;
    if (!current || this.held || current.settled) return;
    const until = this.now() + pauseMs(current.order);
    do current.step();
    while (!current.settled && this.now() < until);
    // Half of a map is of no use: it is told when a group of it is done.
    if (!(current instanceof Nested) || current.fresh) this.say(false);
    this.go();
  }
}
