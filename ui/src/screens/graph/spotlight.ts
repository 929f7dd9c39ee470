/** Which node is lit, with its neighbours: the one under the pointer, or else the chosen one. */
import type Sigma from "sigma";
import type { Palette } from "./colours";
import type { Dot, Drawing, Line } from "./drawing";
import { drawHighlight, fitted, type Spot } from "./overlay";

const NEAR_MAX = 2000;

/** All neighbours of a node, also those that no line leads to now; the important ones first. */
export type Neighbours = (key: string) => readonly { key: string; width: number }[];

export class Spotlight {
  hovered: string | null = null;
  chosen: string | null = null;

  constructor(private readonly veil: HTMLCanvasElement) {}

  /** Answers whether one is lit. */
  draw(
    renderer: Sigma<Dot, Line>,
    graph: Drawing,
    hidden: ReadonlySet<string>,
    near: Neighbours,
    palette: Palette,
  ): boolean {
    const key = this.hovered ?? this.chosen;
    const size = renderer.getDimensions();
    const context = fitted(this.veil, size.width, size.height);
    if (!context || key === null || !graph.hasNode(key) || hidden.has(key)) return false;
    const spot = (each: string): Spot => {
      const dot = graph.getNodeAttributes(each);
      const { x, y } = renderer.graphToViewport(dot);
      return { x, y, radius: renderer.scaleSize(dot.size), colour: dot.color, label: dot.label, width: 1 };
    };
    const spots = near(key)
      .filter((each) => graph.hasNode(each.key) && !hidden.has(each.key))
      .slice(0, NEAR_MAX)
      .map((each) => ({ ...spot(each.key), width: each.width }));
    drawHighlight(context, size, { centre: spot(key), near: spots, chosen: key === this.chosen }, palette);
    return true;
  }
}
