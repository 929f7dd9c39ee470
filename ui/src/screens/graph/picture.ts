/** The picture: a WebGL renderer over the drawing. It moves its camera only when it is told to. */
import Sigma from "sigma";
import { EdgeLineProgram } from "sigma/rendering";
import type { Kind } from "./address";
import { centre, pan, show, zoom } from "./camera";
import { mixed, type Palette } from "./colours";
import {
  type Dot,
  type Drawing,
  emptyDrawing,
  type Line,
  lineOf,
  outdated,
  present,
  put,
  redrawn,
  relined,
  update,
} from "./drawing";
import type { Bundles } from "./edges";
import { type Extent, extentOf } from "./extent";
import { LabelLayer } from "./labelLayer";
import { edgesFor } from "./level";
import { calm, Motion } from "./motion";
import { PADDING, type Round } from "./rooms";
import { drawRounds, nameRounds } from "./rounds";
import { type Look, neighbours, type Scene, thinned } from "./scene";
import { type Neighbours, Spotlight } from "./spotlight";

const THIN_FROM = 5000; // edges: from here on they are hairlines, and not drawn while the picture moves
const ARROWS_TO = 2000;
const CLICK_MS = 260; // a double click is not two clicks
const REST_MS = 250; // without a movement, before other edges are drawn
const ZOOM_STEP = 0.3; // of a doubling of the width: less is not seen
const GENTLE_MAX = 20_000; // nodes beyond which a frame takes too long for a movement to be seen

export interface Handlers {
  click: (key: string) => unknown;
  doubleClick: (key: string) => unknown;
  clickStage: () => unknown;
  touched: () => void; // somebody moves the camera
  rendered: () => void;
}

/** The layers around those of the renderer. */
export interface Layers {
  under: HTMLCanvasElement; // opened groups
  over: HTMLCanvasElement; // a node with its neighbours
}

/** How nodes come to their places: a new frame is for a new picture, and the camera shows all of it. */
export type Manner = { frame: Extent } | "gently" | "at once";

/** What a picture of groups has beside its places. */
export interface Grouped {
  sizes: Float32Array;
  rounds: readonly Round[];
}

type CameraTarget = { fit: readonly string[] | null } | { centre: string };

export class Picture {
  graph: Drawing = emptyDrawing();
  private renderer: Sigma<Dot, Line> | null = null;
  private hidden: ReadonlySet<string> = new Set();
  private readonly motion = new Motion();
  private readonly resized: ResizeObserver;
  private readonly light: Spotlight;
  private readonly labels = new LabelLayer();
  private target: CameraTarget | null = null; // until the nodes it is about are drawn
  private clicking: ReturnType<typeof setTimeout> | undefined;
  private kind: Kind = "discovery";
  private scene: Scene | null = null;
  private lines: Bundles | null = null; // that are drawn now
  private zoomed = 1; // how much narrower lines are made, so that they have their width where the camera is
  private rounds: readonly Round[] = [];
  private resting: ReturnType<typeof setTimeout> | undefined;
  private near: { scene: Scene; key: string; found: ReturnType<Neighbours> } | null = null;

  constructor(
    private readonly box: HTMLElement,
    private readonly layers: Layers,
    private readonly handlers: Handlers,
    private palette: Palette,
  ) {
    this.light = new Spotlight(layers.over);
    this.resized = new ResizeObserver(() => this.again());
    this.resized.observe(box);
    for (const name of ["pointerdown", "wheel"]) box.addEventListener(name, handlers.touched, { passive: true });
    // A pointer that leaves fast enough is never seen beside the node that it was on.
    box.addEventListener("pointerleave", this.left);
  }

  show(scene: Scene, look: Look, palette: Palette, kind: Kind): void {
    const repaint = palette !== this.palette;
    const other = kind !== this.kind; // the edges are others
    const filtered = look.hidden !== this.hidden;
    const changed = scene !== this.scene;
    const swapped = changed && (thinned(scene) || this.lines !== this.scene?.edges);
    const lines = changed || !this.lines ? scene.edges : this.lines;
    this.palette = palette;
    this.kind = kind;
    this.hidden = look.hidden;
    this.scene = scene;
    this.lines = lines;
    if (!scene.areas.length) this.zoomed = 1;
    if (other || outdated(this.graph, scene, lines)) {
      this.graph = redrawn(this.graph, scene, look, this.zoomed);
      this.lines = scene.edges;
      this.renderer?.setGraph(this.graph);
    } else {
      const touched = update(this.graph, scene, look, lines);
      if (swapped) relined(this.graph, scene, lines, this.zoomed);
      if (touched.length) this.renderer?.refresh({ partialGraph: { nodes: touched }, schedule: true });
    }
    this.dress(repaint);
    if (filtered) this.renderer?.refresh({ schedule: true });
    if (changed) this.rest();
    this.attend();
  }

  /** x, y by the order of the keys. The first places make the first picture. */
  place(keys: readonly string[], places: Float32Array, manner: Manner, grouped: Grouped | null): void {
    this.motion.stop();
    this.rounds = grouped?.rounds ?? [];
    const move = (now: Float32Array) => this.put(keys, now, grouped?.sizes ?? null);
    if (typeof manner === "object") {
      move(places);
      this.frame(manner.frame);
    } else if (manner === "gently" && !calm() && keys.length <= GENTLE_MAX) {
      this.motion.start(present(this.graph, keys, places), places, move);
    } else {
      move(places);
    }
    this.rest();
    this.attend();
  }

  choose(key: string | null): void {
    this.light.chosen = key;
    this.highlight();
  }

  /** Centres a node, as soon as it is drawn. */
  centre(key: string): void {
    this.target = { centre: key };
    this.attend();
  }

  fit(keys: readonly string[] | null = null): void {
    this.target = { fit: keys };
    this.attend();
  }

  zoom(closer: boolean): void {
    if (this.renderer) zoom(this.renderer, closer);
  }

  /** To a place in the coordinates of the layout. */
  pan(x: number, y: number): void {
    if (this.renderer) pan(this.renderer, x, y);
  }

  /** What is seen, in the coordinates of the layout. */
  view(): Extent | null {
    const { renderer } = this;
    if (!renderer) return null;
    const { width, height } = renderer.getDimensions();
    const a = renderer.viewportToGraph({ x: 0, y: height });
    const b = renderer.viewportToGraph({ x: width, y: 0 });
    return { x: [a.x, b.x], y: [a.y, b.y] };
  }

  dots(each: (x: number, y: number, colour: string) => void): void {
    this.graph.forEachNode((key, dot) => {
      if (!this.hidden.has(key)) each(dot.x, dot.y, dot.color);
    });
  }

  /** In the coordinates of the layout; null: it is not drawn. */
  readonly placeOf = (key: string): { x: number; y: number } | null => {
    if (!this.graph.hasNode(key)) return null;
    const { x, y } = this.graph.getNodeAttributes(key);
    return { x, y };
  };

  /** Of all nodes; null: there are none. */
  extent(): Extent | null {
    const places = new Float32Array(2 * this.graph.order);
    let at = 0;
    this.graph.forEachNode((_, { x, y }) => {
      places[at++] = x;
      places[at++] = y;
    });
    return extentOf(places);
  }

  camera(): { x: number; y: number; ratio: number } | null {
    return this.renderer?.getCamera().getState() ?? null;
  }

  screenPosition(key: string): { x: number; y: number } | null {
    if (!this.renderer || !this.graph.hasNode(key) || this.hidden.has(key)) return null;
    const inside = this.renderer.graphToViewport(this.graph.getNodeAttributes(key));
    const { left, top } = this.box.getBoundingClientRect();
    return { x: left + inside.x, y: top + inside.y };
  }

  kill(): void {
    clearTimeout(this.clicking);
    clearTimeout(this.resting);
    this.motion.stop();
    this.resized.disconnect();
    for (const name of ["pointerdown", "wheel"]) this.box.removeEventListener(name, this.handlers.touched);
    this.box.removeEventListener("pointerleave", this.left);
    this.renderer?.kill(); // gives its WebGL contexts back
    this.renderer = null;
  }

  /** Without a frame of its own the renderer would fit the picture anew whenever a node comes or moves. */
  private frame(extent: Extent): void {
    this.renderer ??= this.begin();
    this.renderer.setCustomBBox(extent);
    this.renderer.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
    this.dress(true);
  }

  private begin(): Sigma<Dot, Line> {
    const renderer = new Sigma<Dot, Line>(this.graph, this.box, {
      allowInvalidContainer: true,
      defaultDrawNodeHover: () => undefined, // the spotlight does it
      defaultDrawNodeLabel: (context, { x, y, size, label }) => {
        if (label) this.labels.add(context, { x, y, size, label });
      },
      edgeProgramClasses: { thin: EdgeLineProgram },
      enableCameraRotation: false,
      labelDensity: 0.7,
      labelGridCellSize: 110,
      labelRenderedSizeThreshold: 5,
      maxCameraRatio: 20,
      minCameraRatio: 0.001,
      stagePadding: PADDING,
      nodeReducer: (key, dot) => (this.hidden.has(key) ? { ...dot, hidden: true } : dot),
    });
    renderer.on("enterNode", ({ node }) => this.hover(node));
    renderer.on("leaveNode", () => this.hover(null));
    renderer.on("clickNode", ({ node }) => {
      clearTimeout(this.clicking);
      this.clicking = setTimeout(() => this.handlers.click(node), CLICK_MS);
    });
    renderer.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      clearTimeout(this.clicking);
      this.handlers.doubleClick(node);
    });
    renderer.on("clickStage", () => this.handlers.clickStage());
    renderer.getCamera().on("updated", () => this.rest());
    renderer.on("afterRender", () => {
      this.labels.draw(this.palette);
      drawRounds(this.layers.under, renderer, this.rounds, this.palette);
      this.highlight();
      this.handlers.rendered();
    });
    return renderer;
  }

  private readonly left = (): void => {
    if (this.light.hovered !== null) this.hover(null);
  };

  /** When nothing has moved for a moment, the edges are those of what is seen. */
  private rest(): void {
    clearTimeout(this.resting);
    const { scene } = this;
    if (!scene || !(thinned(scene) || scene.areas.length)) return;
    this.resting = setTimeout(() => this.detail(scene), REST_MS);
  }

  private detail(scene: Scene): void {
    const view = this.view();
    if (!view || scene !== this.scene) return;
    const lines = edgesFor(scene, view, this.placeOf);
    const zoom = scene.areas.length ? Math.sqrt(this.camera()?.ratio ?? 1) : 1;
    if (lines === this.lines && Math.abs(Math.log2(zoom / this.zoomed)) < ZOOM_STEP) return;
    this.lines = lines;
    this.zoomed = zoom;
    relined(this.graph, scene, lines, zoom);
    this.dress(false);
  }

  /** Of an item, with the width of the line to each. It is asked for every frame. */
  private readonly neighbours: Neighbours = (key) => {
    const { scene } = this;
    if (!scene) return [];
    if (this.near?.scene === scene && this.near.key === key) return this.near.found;
    const place = scene.items.findIndex((item) => item.key === key);
    const near = place < 0 ? [] : neighbours(scene, place);
    const most = near[0]?.weight ?? 1;
    const grouped = scene.areas.length > 0;
    const found = near.flatMap((each) => {
      const other = scene.items[each.place]?.key;
      return other === undefined ? [] : [{ key: other, width: grouped ? lineOf(each.weight, most, true).size : 1 }];
    });
    this.near = { scene, key, found };
    return found;
  };

  private hover(key: string | null): void {
    this.light.hovered = key;
    this.box.style.cursor = key ? "pointer" : "";
    this.highlight();
  }

  private highlight(): void {
    const { renderer, graph, hidden, palette } = this;
    if (!renderer) return;
    const lit = this.light.draw(renderer, graph, hidden, this.neighbours, palette);
    if (!lit) nameRounds(this.layers.over, renderer, this.rounds, palette);
  }

  /** A small graph has arrows, a large one hairlines. Opaque: the renderer's blending does not take half a colour. */
  private dress(repaint: boolean): void {
    const { renderer, graph } = this;
    if (!renderer) return;
    const thin = graph.size > THIN_FROM;
    const arrows = this.kind === "links" && graph.size <= ARROWS_TO;
    const type = thin ? "thin" : arrows ? "arrow" : "line";
    if (!repaint && renderer.getSetting("defaultEdgeType") === type) return;
    renderer.setSettings({
      defaultEdgeColor: mixed(this.palette.ground, this.palette.line, thin ? 0.3 : 0.5),
      defaultEdgeType: type,
      hideEdgesOnMove: thin,
    });
  }

  private put(keys: readonly string[], places: Float32Array, sizes: Float32Array | null): void {
    put(this.graph, keys, places, sizes);
    // It reads sizes only of nodes that it is told to read again.
    const nodes = sizes ? keys.filter((key) => this.graph.hasNode(key)) : [];
    if (nodes.length) this.renderer?.refresh({ partialGraph: { nodes }, skipIndexation: false, schedule: true });
    else this.again();
  }

  /** The renderer reads places when it indexes; nothing else has changed. */
  private again(): void {
    this.renderer?.refresh({ partialGraph: {}, skipIndexation: false, schedule: true });
  }

  private attend(): void {
    const { renderer, target } = this;
    if (!renderer || !target) return;
    if ("centre" in target && !this.graph.hasNode(target.centre)) return;
    this.target = null;
    // After the next picture: only then the renderer knows where the nodes are now.
    renderer.once("afterRender", () => {
      if ("centre" in target) centre(renderer, target.centre, this.graph.order);
      else show(renderer, target.fit ?? this.graph.nodes());
    });
    renderer.scheduleRender();
  }
}
