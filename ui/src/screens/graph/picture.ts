/** The picture: a WebGL renderer over the drawing. It moves its camera only when it is told to. */
import Sigma from "sigma";
import { EdgeLineProgram } from "sigma/rendering";
import type { Kind } from "./address";
import { centre, pan, show, zoom } from "./camera";
import { mixed, type Palette } from "./colours";
import { type Dot, type Drawing, emptyDrawing, type Line, outdated, present, put, redrawn, update } from "./drawing";
import { type Extent, extentOf, widened } from "./extent";
import { calm, Motion } from "./motion";
import { LABEL_FONT, plate } from "./overlay";
import type { Look, Scene } from "./scene";
import { Spotlight } from "./spotlight";

const THIN_FROM = 5000; // edges: from here on they are hairlines, and not drawn while the picture moves
const ARROWS_TO = 2000;
const CLICK_MS = 260; // a double click is not two clicks
const GENTLE_MAX = 20_000; // nodes beyond which a frame takes too long for a movement to be seen

export interface Handlers {
  click: (key: string) => unknown;
  doubleClick: (key: string) => unknown;
  clickStage: () => unknown;
  rendered: () => void;
}

/** How nodes come to their places: a new frame is for a new picture, and the camera shows all of it. */
export type Manner = { frame: number } | "gently" | "at once";

type Wish = { fit: readonly string[] | null } | { centre: string };

export class Picture {
  graph: Drawing = emptyDrawing();
  private renderer: Sigma<Dot, Line> | null = null;
  private hidden: ReadonlySet<string> = new Set();
  private readonly motion = new Motion();
  private readonly resized: ResizeObserver;
  private readonly light: Spotlight;
  private wish: Wish | null = null; // until what it is about is there
  private clicking: ReturnType<typeof setTimeout> | undefined;
  private kind: Kind = "discovery";

  constructor(
    private readonly box: HTMLElement,
    veil: HTMLCanvasElement,
    private readonly handlers: Handlers,
    private palette: Palette,
  ) {
    this.light = new Spotlight(veil);
    this.resized = new ResizeObserver(() => this.again());
    this.resized.observe(box);
  }

  show(scene: Scene, look: Look, palette: Palette, kind: Kind): void {
    const repaint = palette !== this.palette;
    const other = kind !== this.kind; // the edges are others
    const filtered = look.hidden !== this.hidden;
    this.palette = palette;
    this.kind = kind;
    this.hidden = look.hidden;
    if (other || outdated(this.graph, scene)) {
      this.graph = redrawn(this.graph, scene, look);
      this.renderer?.setGraph(this.graph);
    } else {
      const touched = update(this.graph, scene, look);
      if (touched.length) this.renderer?.refresh({ partialGraph: { nodes: touched }, schedule: true });
    }
    this.dress(repaint);
    if (filtered) this.renderer?.refresh({ schedule: true });
    this.attend();
  }

  /** x, y by the order of the keys. The first places make the first picture. */
  place(keys: readonly string[], places: Float32Array, manner: Manner): void {
    this.motion.stop();
    const move = (now: Float32Array) => this.put(keys, now);
    if (typeof manner === "object") {
      move(places);
      this.frame(manner.frame);
    } else if (manner === "gently" && !calm() && keys.length <= GENTLE_MAX) {
      this.motion.start(present(this.graph, keys, places), places, move);
    } else {
      move(places);
    }
    this.attend();
  }

  choose(key: string | null): void {
    this.light.chosen = key;
    this.highlight();
  }

  /** As soon as it is there, if it is not yet. */
  centre(key: string): void {
    this.wish = { centre: key };
    this.attend();
  }

  fit(keys: readonly string[] | null = null): void {
    this.wish = { fit: keys };
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
    this.motion.stop();
    this.resized.disconnect();
    this.renderer?.kill(); // gives its WebGL contexts back
    this.renderer = null;
  }

  /** Without a frame of its own the renderer would fit the picture anew whenever a node comes or moves. */
  private frame(room: number): void {
    this.renderer ??= this.begin();
    const extent = extentOf(this.graph);
    if (extent) this.renderer.setCustomBBox(widened(extent, room));
    this.renderer.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
    this.dress(true);
  }

  private begin(): Sigma<Dot, Line> {
    const renderer = new Sigma<Dot, Line>(this.graph, this.box, {
      allowInvalidContainer: true,
      defaultDrawNodeHover: () => undefined, // the spotlight does it
      defaultDrawNodeLabel: (context, { x, y, size, color, label }) => {
        context.font = LABEL_FONT;
        plate(context, { x, y, radius: size, colour: color, label: label ?? "" }, this.palette);
      },
      edgeProgramClasses: { thin: EdgeLineProgram },
      enableCameraRotation: false,
      labelDensity: 0.7,
      labelGridCellSize: 110,
      labelRenderedSizeThreshold: 5,
      maxCameraRatio: 20,
      minCameraRatio: 0.001,
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
    renderer.on("afterRender", () => {
      this.highlight();
      this.handlers.rendered();
    });
    return renderer;
  }

  private hover(key: string | null): void {
    this.light.hovered = key;
    this.box.style.cursor = key ? "pointer" : "";
    this.highlight();
  }

  private highlight(): void {
    if (this.renderer) this.light.draw(this.renderer, this.graph, this.hidden, this.palette);
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

  private put(keys: readonly string[], places: Float32Array): void {
    put(this.graph, keys, places);
    this.again();
  }

  /** The renderer reads places when it indexes; nothing else has changed. */
  private again(): void {
    this.renderer?.refresh({ partialGraph: {}, skipIndexation: false, schedule: true });
  }

  private attend(): void {
    const { renderer, wish } = this;
    if (!renderer || !wish) return;
    if ("centre" in wish && !this.graph.hasNode(wish.centre)) return;
    this.wish = null;
    // After the next picture: only then the renderer knows where the nodes are now.
    renderer.once("afterRender", () => {
      if ("centre" in wish) centre(renderer, wish.centre, this.graph.order);
      else show(renderer, wish.fit ?? this.graph.nodes());
    });
    renderer.scheduleRender();
  }
}
