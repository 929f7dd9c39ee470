/** Which node is lit, with its neighbours: the one under the pointer, or else the chosen one. */
import type Sigma from "sigma";
import type { Palette } from "./colours";
import type { Dot, Drawing, Line } from "./drawing";
import { drawHighlight, fitted, type Spot } from "./overlay";

const NEAR_MAX = 2000;

export class Spotlight {
  hovered: string | null = null;
  chosen: string | null = null;

  constructor(private readonly veil: HTMLCanvasElement) {}

  draw(renderer: Sigma<Dot, Line>, graph: Drawing, hidden: ReadonlySet<string>, palette: Palette): void {
    const key = this.hovered ?? this.chosen;
    const size = renderer.getDimensions();
    const context = fitted(this.veil, size.width, size.height);
    if (!context || key === null || !graph.hasNode(key) || hidden.has(key)) return;
    const spot = (each: string): Spot => {
      const dot = graph.getNodeAttributes(each);
      const { x, y } = renderer.graphToViewport(dot);
      return { x, y, radius: renderer.scaleSize(dot.size), colour: dot.color, label: dot.label };
    };
    const near = graph.neighbors(key).filter((each) => !hidden.has(each));
    const spots = near
      .slice(0, NEAR_MAX)
      .map(spot)
      .sort((a, b) => b.radius - a.radius);
    drawHighlight(context, size, { centre: spot(key), near: spots, chosen: key === this.chosen }, palette);
  }
}
