/** The whole graph in a few pixels, and back: where a click on it is in the graph. */
import type { Extent } from "./extent";

export interface Frame {
  scale: number;
  left: number;
  top: number;
}

export interface Size {
  width: number;
  height: number;
}

const MARGIN = 6;

/** The y axis of a layout points up, that of a canvas down. */
export function frameOf({ x, y }: Extent, { width, height }: Size): Frame {
  const wide = Math.max(x[1] - x[0], 1e-6);
  const high = Math.max(y[1] - y[0], 1e-6);
  const scale = Math.min((width - 2 * MARGIN) / wide, (height - 2 * MARGIN) / high);
  return { scale, left: width / 2 - (scale * (x[0] + x[1])) / 2, top: height / 2 + (scale * (y[0] + y[1])) / 2 };
}

export function toMap({ scale, left, top }: Frame, x: number, y: number): { x: number; y: number } {
  return { x: left + scale * x, y: top - scale * y };
}

export function fromMap({ scale, left, top }: Frame, x: number, y: number): { x: number; y: number } {
  return { x: (x - left) / scale, y: (top - y) / scale };
}

/** The part that is seen, cut off at the edges of the map. */
export function seen(frame: Frame, view: Extent, { width, height }: Size) {
  const a = toMap(frame, view.x[0], view.y[1]);
  const b = toMap(frame, view.x[1], view.y[0]);
  const inside = (value: number, most: number) => Math.min(Math.max(value, 0), most);
  const [left, top] = [inside(a.x, width), inside(a.y, height)];
  return { left, top, width: inside(b.x, width) - left, height: inside(b.y, height) - top };
}
