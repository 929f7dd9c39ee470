import type { Drawing } from "./drawing";

export interface Extent {
  x: [number, number];
  y: [number, number];
}

/** Null: there is nothing. */
export function extentOf(graph: Drawing): Extent | null {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  graph.forEachNode((_, { x, y }) => {
    left = Math.min(left, x);
    right = Math.max(right, x);
    low = Math.min(low, y);
    high = Math.max(high, y);
  });
  return left > right ? null : { x: [left, right], y: [low, high] };
}

/** At least `room` to each side of the middle. */
export function widened({ x, y }: Extent, room: number): Extent {
  const wide = ([from, to]: [number, number]): [number, number] => {
    const middle = (from + to) / 2;
    const half = Math.max((to - from) / 2, room);
    return [middle - half, middle + half];
  };
  return { x: wide(x), y: wide(y) };
}
