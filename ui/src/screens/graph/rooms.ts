/** How large things are drawn in a picture of groups: by the room that the layout has given them. */
import { WHOLE_RADIUS } from "./nested";
import type { Rooms } from "./protocol";

export const PADDING = 30; // px around the whole
const SHARE = 0.55; // of its room that an item fills; the rest is for lines and labels
const SMALLEST = 0.7; // px
const LARGEST = 46;

/**
 * Pixels while all of the graph is seen. Nearer, distances grow with the zoom, sizes with its square root: what fills
 * an opened group has the right size when the camera is on that group.
 */
export function roomSizes(rooms: Rooms, areaOf: Int32Array, box: { width: number; height: number }): Float32Array {
  const unit = Math.max(1, Math.min(box.width, box.height) - 2 * PADDING) / (2 * WHOLE_RADIUS);
  return rooms.radii.map((radius, slot) => {
    const around = rooms.areas[3 * (areaOf[slot] ?? 0) + 2] ?? WHOLE_RADIUS;
    const size = (SHARE * radius * unit) / Math.sqrt(around / WHOLE_RADIUS);
    return Math.min(LARGEST, Math.max(SMALLEST, size));
  });
}

/** An opened group in the picture. */
export interface Round {
  label: string;
  x: number;
  y: number;
  radius: number;
}

/** All but the first, which is everything. */
export function roundsOf(rooms: Rooms, labels: readonly string[]): Round[] {
  return labels
    .map((label, area) => ({
      label,
      x: rooms.areas[3 * area] ?? 0,
      y: rooms.areas[3 * area + 1] ?? 0,
      radius: rooms.areas[3 * area + 2] ?? 0,
    }))
    .slice(1);
}
