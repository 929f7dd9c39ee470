/**
 * What tests and benchmarks ask of the graph. A picture is pixels: from outside nobody can tell when it is drawn, how
 * much is in it, whether it still moves, or where to click for a node. It only reads; nothing in the page uses it.
 */
import type { Extent } from "./extent";

export interface Readout {
  readonly order: number; // nodes in the picture
  readonly size: number; // edges in it
  readonly firstPictureMs: number | null; // from the mounting of the screen
  readonly settled: boolean; // the layout rests, and is drawn
  readonly camera: { x: number; y: number; ratio: number } | null;
  readonly view: Extent | null; // what is seen, in the coordinates of the layout
  readonly keys: readonly string[]; // of the nodes in the picture: ids, and names of groups behind a "+"
  /** In the coordinates of the layout; null: it is not in the picture. */
  placeOf(key: string): { x: number; y: number } | null;
  /** Keys of what is drawn of an opened group. */
  members(name: string): readonly string[];
  /** Of a node by its id, in pixels of the page; null: it is not in the picture. */
  screenPosition(id: number | string): { x: number; y: number } | null;
}

declare global {
  interface Window {
    nephilaGraph?: Readout;
  }
}

/** Returns what takes it away again. */
export function publish(readout: Readout): () => void {
  window.nephilaGraph = readout;
  return () => {
    if (window.nephilaGraph === readout) delete window.nephilaGraph;
  };
}
