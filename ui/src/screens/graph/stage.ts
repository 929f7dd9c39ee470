/** The picture and its layouts together: what the screen asks of them, and what it may know. */

import type { Palette } from "./colours";
import { Layouter, type Situation } from "./layouter";
import { type Handlers, Picture } from "./picture";
import type { Tell } from "./protocol";
import { GAP } from "./radial";
import { publish } from "./readout";
import type { Look, Scene } from "./scene";

/** A crawl that has just begun grows beyond its first nodes: the first frame has room for some rings. */
const ROOM = 3 * GAP;

export interface StageState {
  pictured: boolean;
  settled: boolean;
  added: number; // nodes since everything was laid out together
}

export class Stage {
  readonly picture: Picture;
  private state: StageState = { pictured: false, settled: false, added: 0 };
  private readonly layouter: Layouter;
  private readonly listeners = new Set<() => void>();
  private readonly rendered = new Set<() => void>();
  private readonly unpublish: () => void;
  private shown: { scene: Scene; look: Look; palette: Palette; situation: Situation } | null = null;
  private framed: Situation["kind"] | null = null;
  private firstPictureMs: number | null = null;

  constructor(
    box: HTMLElement,
    veil: HTMLCanvasElement,
    handlers: Omit<Handlers, "rendered">,
    palette: Palette,
    private readonly began: number,
  ) {
    this.picture = new Picture(box, veil, { ...handlers, rendered: () => this.seen() }, palette);
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    this.layouter = new Layouter(worker, (keys, places, tell) => this.placed(keys, places, tell));
    worker.onmessage = (event: MessageEvent<Tell>) => this.layouter.hear(event.data);
    this.unpublish = publish(this.readout());
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): StageState => this.state;

  onRender(listener: () => void): () => void {
    this.rendered.add(listener);
    return () => this.rendered.delete(listener);
  }

  show(scene: Scene, look: Look, palette: Palette, situation: Situation): void {
    this.shown = { scene, look, palette, situation };
    // A picture of another kind stays until its first places are known.
    if (this.framed === situation.kind) this.picture.show(scene, look, palette, situation.kind);
    this.layouter.show(scene, situation);
    this.tell();
  }

  tidy(): void {
    this.layouter.tidy(this.shown?.situation.live ?? false);
    this.tell();
  }

  kill(): void {
    this.unpublish();
    this.layouter.kill();
    this.picture.kill();
  }

  private placed(keys: readonly string[], places: Float32Array, tell: Tell): void {
    const { shown } = this;
    if (!shown) return;
    const { scene, look, palette, situation } = shown;
    if (this.framed === situation.kind) {
      this.picture.place(keys, places, tell.whole || situation.kind === "discovery" ? "gently" : "at once");
    } else {
      this.framed = situation.kind;
      this.picture.show(scene, look, palette, situation.kind);
      this.picture.place(keys, places, { frame: situation.live ? ROOM : GAP });
    }
    this.tell();
  }

  private seen(): void {
    if (this.firstPictureMs === null) {
      this.firstPictureMs = performance.now() - this.began;
      this.tell();
    }
    for (const listener of this.rendered) listener();
  }

  private tell(): void {
    const { settled, added } = this.layouter;
    const pictured = this.firstPictureMs !== null;
    const { state } = this;
    if (state.settled === settled && state.added === added && state.pictured === pictured) return;
    this.state = { pictured, settled, added };
    for (const listener of this.listeners) listener();
  }

  private readout() {
    const { picture, layouter } = this;
    const first = () => this.firstPictureMs;
    return {
      get order() {
        return picture.graph.order;
      },
      get size() {
        return picture.graph.size;
      },
      get firstPictureMs() {
        return first();
      },
      get settled() {
        return layouter.settled;
      },
      get camera() {
        return picture.camera();
      },
      screenPosition: (id: number | string) => picture.screenPosition(String(id)),
    };
  }
}
