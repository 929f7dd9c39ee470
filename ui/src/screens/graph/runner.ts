/** Runs a layout in steps, tells where everything is now and then, and rests as soon as it has settled. */
import { Force } from "./force";
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
  private epoch = 0;
  private held = false; // its links are still being read: where it would go without them is of no use
  private waiting = false;

  constructor(
    private readonly tell: (tell: Tell) => void,
    private readonly later: (run: () => void) => void,
    private readonly now: () => number,
  ) {}

  hear(ask: Ask): void {
    if (ask.do === "begin") {
      this.epoch = ask.epoch;
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

  private say(whole: boolean): void {
    const { layout } = this;
    if (!layout) return;
    const settled = layout.settled && !this.held;
    this.tell({ epoch: this.epoch, places: layout.places(), settled, whole });
  }

  private go(): void {
    if (this.waiting || this.held || !this.layout || this.layout.settled) return;
    this.waiting = true;
    this.later(() => {
      this.waiting = false;
      this.work();
    });
  }

  private work(): void {
    const { layout } = this;
    if (!layout || this.held || layout.settled) return;
    const until = this.now() + pauseMs(layout.order);
    do layout.step();
    while (!layout.settled && this.now() < until);
    this.say(false);
    this.go();
  }
}
