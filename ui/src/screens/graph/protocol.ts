/** What the page and the worker of the layouts say to each other. Nodes are slots: 0, 1, 2 in the order they came. */
import type { Kind } from "./address";

export interface Batch {
  parents: Int32Array; // slots; -1: none
  depths: Int32Array;
  communities: Int32Array;
  known: Float32Array | null; // x, y where a node stood before; NaN where it did not
}

export interface Lines {
  pairs: Int32Array; // slots
  weights: Float32Array;
}

export type Ask =
  | { do: "begin"; epoch: number; kind: Kind; live: boolean; held: boolean; batch: Batch; lines: Lines }
  | { do: "add"; epoch: number; held: boolean; batch: Batch; lines: Lines }
  | { do: "tidy"; epoch: number; live: boolean };

export interface Tell {
  epoch: number; // of the last "begin": others are about a graph that is no more
  places: Float32Array; // x, y of every slot
  settled: boolean;
  whole: boolean; // everything was laid out anew: go there gently
}

export interface Layout {
  readonly order: number;
  readonly settled: boolean;
  add(batch: Batch): void;
  link(lines: Lines): void;
  step(): void;
  tidy(live: boolean): void;
  places(): Float32Array;
}
