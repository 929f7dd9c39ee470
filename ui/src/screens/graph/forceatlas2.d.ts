/** One step of the package's algorithm, which it runs itself in a worker made from a string: our CSP forbids that. */
declare module "graphology-layout-forceatlas2/iterate.js" {
  import type { ForceAtlas2Settings } from "graphology-layout-forceatlas2";

  /** 10 numbers a node: x, y, dx, dy, old dx, old dy, mass, convergence, size, fixed. 3 an edge: offsets, weight. */
  export default function iterate(settings: ForceAtlas2Settings, nodes: Float32Array, edges: Float32Array): object;
}
