/**
 * What tests and benchmarks ask of the graph. A picture is pixels: from outside nobody can tell when it is drawn, how
 * much is in it, whether it still moves, or where to click for a node. It only reads; nothing in the page uses it.
 */
export interface Readout {
  readonly order: number; // nodes in the picture
  readonly size: number; // edges in it
  readonly firstPictureMs: number | null; // from the mounting of the screen
  readonly settled: boolean;
  readonly camera: { x: number; y: number; ratio: number } | null;
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
