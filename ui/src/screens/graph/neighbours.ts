import type { GraphNode } from "../../api/types";
import type { Kind } from "./address";
import type { GraphData } from "./graphData";

export interface Neighbours {
  into: GraphNode[];
  out: GraphNode[];
}

/** All that is known, also what is folded or not drawn. In the tree: what it was found on, and what was found on it. */
export function neighboursOf(data: GraphData, id: number, kind: Kind): Neighbours {
  const place = data.indexOf(id);
  const node = data.nodeOf(id);
  if (place === undefined || !node) return { into: [], out: [] };
  if (kind === "discovery") {
    const parent = node.parent === null ? undefined : data.nodeOf(node.parent);
    return { into: parent ? [parent] : [], out: data.nodes.filter((each) => each.parent === id) };
  }
  const nodes = (places: Iterable<number>) => [...places].flatMap((each) => data.nodes[each] ?? []);
  return { into: nodes(data.links.sourcesOf(place)), out: nodes(data.links.out[place] ?? []) };
}

/** Nodes found from each one. */
export function children(data: GraphData): Uint32Array {
  const found = new Uint32Array(data.nodes.length);
  for (const { parent } of data.nodes) {
    const place = parent === null ? undefined : data.indexOf(parent);
    if (place !== undefined) found[place] = (found[place] ?? 0) + 1;
  }
  return found;
}
