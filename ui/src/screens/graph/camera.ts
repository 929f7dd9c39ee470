import type Sigma from "sigma";
import { calm } from "./motion";

const MOVE_MS = 400;
const MARGIN = 40; // px around the places that are fitted
const LARGEST = 60; // px more, for what is drawn there
const CLOSEST = 0.002; // a small group in a large graph is far down
const NEAR = 60; // nodes that one sees around a chosen one, about

const duration = () => (calm() ? 1 : MOVE_MS);

type Renderer = Pick<
  Sigma,
  | "getCamera"
  | "getNodeDisplayData"
  | "framedGraphToViewport"
  | "viewportToFramedGraph"
  | "graphToViewport"
  | "getDimensions"
>;

/** The camera so that all these nodes are seen. */
export function fitting(renderer: Renderer, keys: Iterable<string>): { x: number; y: number; ratio: number } | null {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  let largest = 0;
  for (const key of keys) {
    const place = renderer.getNodeDisplayData(key);
    if (!place || place.hidden) continue;
    left = Math.min(left, place.x);
    right = Math.max(right, place.x);
    bottom = Math.min(bottom, place.y);
    top = Math.max(top, place.y);
    largest = Math.max(largest, place.size);
  }
  if (left > right) return null;
  const centre = { x: (left + right) / 2, y: (bottom + top) / 2 };
  // How large they are at ratio 1 says at which ratio they fill the view.
  const cameraState = { ...centre, ratio: 1, angle: 0 };
  const low = renderer.framedGraphToViewport({ x: left, y: bottom }, { cameraState });
  const high = renderer.framedGraphToViewport({ x: right, y: top }, { cameraState });
  const { width, height } = renderer.getDimensions();
  const ratio = (margin: number) => {
    const across = Math.abs(high.x - low.x) / Math.max(width - 2 * margin, 1);
    const down = Math.abs(high.y - low.y) / Math.max(height - 2 * margin, 1);
    return Math.max(across, down, CLOSEST);
  };
  // Sizes grow with the square root of the zoom.
  const drawn = Math.min(LARGEST, largest / Math.sqrt(ratio(MARGIN)));
  return { ...centre, ratio: ratio(MARGIN + drawn) };
}

export function show(renderer: Renderer, keys: Iterable<string>): void {
  const state = fitting(renderer, keys);
  if (state) void renderer.getCamera().animate(state, { duration: duration() });
}

/** Brings a node to the middle, near enough to see it among its neighbours, never farther away than now. */
export function centre(renderer: Renderer, key: string, order: number): void {
  const place = renderer.getNodeDisplayData(key);
  if (!place) return;
  const camera = renderer.getCamera();
  const ratio = Math.min(camera.ratio, Math.max(0.02, Math.sqrt(NEAR / Math.max(order, NEAR))));
  void camera.animate({ x: place.x, y: place.y, ratio }, { duration: duration() });
}

export function zoom(renderer: Renderer, closer: boolean): void {
  const camera = renderer.getCamera();
  const options = { duration: calm() ? 1 : MOVE_MS / 2 };
  void (closer ? camera.animatedZoom(options) : camera.animatedUnzoom(options));
}

export function pan(renderer: Renderer, x: number, y: number): void {
  const place = renderer.viewportToFramedGraph(renderer.graphToViewport({ x, y }));
  void renderer.getCamera().animate({ x: place.x, y: place.y }, { duration: calm() ? 1 : MOVE_MS / 2 });
}
