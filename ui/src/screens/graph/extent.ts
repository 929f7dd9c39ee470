export interface Extent {
  x: [number, number];
  y: [number, number];
}

/** The box around all places (x, y, x, y); null: there are none. */
export function extentOf(places: Float32Array): Extent | null {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < places.length; at += 2) {
    const [x, y] = [places[at] ?? 0, places[at + 1] ?? 0];
    left = Math.min(left, x);
    right = Math.max(right, x);
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
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
