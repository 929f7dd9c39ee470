/** The picture and its layouts together: what the screen asks of them, and what it may know. */

import type { Palette } from "./colours";
import { type Extent, extentOf, widened } from "./extent";
import { keyOf, membersOf } from "./fold";
import { Layouter, type Situation } from "./layouter";
import { WHOLE_RADIUS } from "./nested";
import { type Grouped, type Handlers, type Layers, Picture } from "./picture";
import type { Nest, Tell } from "./protocol";
import { GAP } from "./radial";
import { publish } from "./readout";
import { roomSizes, roundsOf } from "./rooms";
import type { Look, Scene } from "./scene";

/** A crawl that has just begun grows beyond its first nodes: the first frame has room for some rings. */
const ROOM = 3 * GAP;

export interface StageState {
  pictured: boolean;
  settled: boolean;
  added: number; // nodes since everything was laid out together
}

/** What the camera shall be on, once it is drawn and has its place. */
export type Aim = { group: string } | { node: number };

const WHOLE: Extent = { x: [-WHOLE_RADIUS, WHOLE_RADIUS], y: [-WHOLE_RADIUS, WHOLE_RADIUS] };

export class Stage {
  readonly picture: Picture;
  private state: StageState = { pictured: false, settled: false, added: 0 };
  private readonly layouter: Layouter;
  private readonly listeners = new Set<() => void>();
  private readonly rendered = new Set<() => void>();
  private readonly unpublish: () => void;
  private shown: { scene: Scene; look: Look; palette: Palette; situation: Situation } | null = null;
  private framed = ""; // which picture it is: of another kind, or with groups, it is another one
  private aimed: Aim | null = null; // until the layout rests, or somebody moves the camera
  private firstPictureMs: number | null = null;
  private unseen = false; // there are places that no picture has shown yet

  constructor(
    private readonly box: HTMLElement,
    layers: Layers,
    handlers: Omit<Handlers, "rendered" | "touched">,
    palette: Palette,
    private readonly began: number,
  ) {
    const touched = () => {
      this.aimed = null;
    };
    this.picture = new Picture(box, layers, { ...handlers, touched, rendered: () => this.seen() }, palette);
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    this.layouter = new Layouter(worker, (keys, places, tell, nest) => this.placed(keys, places, tell, nest));
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
    if (this.framed === frameName(scene, situation)) this.picture.show(scene, look, palette, situation.kind);
    this.layouter.show(scene, situation);
    this.tell();
  }

  tidy(): void {
    this.layouter.tidy(this.shown?.situation.live ?? false);
    this.tell();
  }

  /** Brings the camera there now, if it is drawn; and again when the layout has moved it. */
  aim(aim: Aim): void {
    this.aimed = aim;
    this.attend();
  }

  fit(): void {
    this.aimed = null;
    this.picture.fit();
  }

  kill(): void {
    this.unpublish();
    this.layouter.kill();
    this.picture.kill();
  }

  private placed(keys: readonly string[], places: Float32Array, tell: Tell, nest: Nest | null): void {
    const { shown } = this;
    if (!shown) return;
    const { scene, look, palette, situation } = shown;
    const grouped = this.grouped(scene, tell, nest);
    this.unseen = true;
    if (this.framed === frameName(scene, situation)) {
      const gently = (tell.whole || situation.kind === "discovery" || grouped) && !this.aimed;
      this.picture.place(keys, places, gently ? "gently" : "at once", grouped);
    } else {
      this.framed = frameName(scene, situation);
      this.picture.show(scene, look, palette, situation.kind);
      this.picture.place(keys, places, { frame: grouped ? WHOLE : this.frame(places, situation.live) }, grouped);
    }
    this.attend();
    this.tell();
  }

  private frame(places: Float32Array, live: boolean): Extent {
    const extent = extentOf(places);
    return widened(extent ?? { x: [0, 0], y: [0, 0] }, live ? ROOM : GAP);
  }

  private grouped({ areas }: Scene, { rooms }: Tell, nest: Nest | null): Grouped | null {
    if (!rooms || !nest) return null;
    const box = { width: this.box.clientWidth, height: this.box.clientHeight };
    const labels = areas.map((area) => area.label);
    return { sizes: roomSizes(rooms, nest.areas, box), rounds: roundsOf(rooms, labels) };
  }

  private attend(): void {
    const { aimed, shown, layouter, picture } = this;
    if (!aimed || !shown || this.framed !== frameName(shown.scene, shown.situation)) return;
    if ("node" in aimed) {
      const key = keyOf(aimed.node);
      if (!shown.scene.items.some((item) => item.key === key)) return;
      picture.centre(key);
    } else {
      const members = membersOf(shown.scene, aimed.group);
      if (!members.length) return;
      picture.fit(members);
    }
    if (layouter.settled) this.aimed = null;
  }

  private seen(): void {
    this.unseen = false;
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
    const settled = () => layouter.settled && !this.unseen;
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
        return settled();
      },
      get camera() {
        return picture.camera();
      },
      get view() {
        return picture.view();
      },
      get keys() {
        return picture.graph.nodes();
      },
      placeOf: (key: string) => picture.placeOf(key),
      members: (name: string) => (this.shown ? membersOf(this.shown.scene, name) : []),
      screenPosition: (id: number | string) => picture.screenPosition(String(id)),
    };
  }
}

const frameName = ({ areas }: Scene, { kind }: Situation) => `${kind}${areas.length ? " in groups" : ""}`;
