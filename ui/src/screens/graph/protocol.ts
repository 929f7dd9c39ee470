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

/** A picture of groups. Areas are opened groups, those outside first; the first is everything. */
export interface Nest {
  keys: readonly string[]; // of the slots
  areas: Int32Array; // that each slot lies in
  counts: Float32Array; // nodes that each slot stands for
  names: readonly string[]; // of the areas
  above: Int32Array; // the area that each area lies in; -1: none
}

export type Ask =
  | { do: "begin"; epoch: number; kind: Kind; live: boolean; held: boolean; batch: Batch; lines: Lines }
  | { do: "add"; epoch: number; held: boolean; batch: Batch; lines: Lines }
  | { do: "nest"; epoch: number; kind: Kind; held: boolean; nest: Nest; lines: Lines }
  | { do: "tidy"; epoch: number; live: boolean };

/** How much room there is, in a picture of groups. */
export interface Rooms {
  radii: Float32Array; // of the slots
  areas: Float32Array; // x, y, radius of each area
}

export interface Tell {
  epoch: number; // of the last "begin" or "nest": others are about a graph that is no more
  places: Float32Array; // x, y of every slot
  settled: boolean;
  whole: boolean; // everything was laid out anew: go there gently
  rooms: Rooms | null; // null: it is no picture of groups
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
