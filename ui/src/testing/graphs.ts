/** Graphs for tests. */
import type { GraphNode } from "../api/types";

export function node(id: number, parent: number | null = null, more: Partial<GraphNode> = {}): GraphNode {
  return {
    id,
    url: `https://a.example/page/${id}`,
    domain: "a.example",
    depth: parent === null ? 0 : 1,
    state: "visited",
    status: 200,
    title: null,
    parent,
    ip: null,
    name: `A.EXAMPLE/page/${id}`,
    http_type: "HTTPS://",
    job_status: "COMPLETED",
    ...more,
  };
}

export function indexed(nodes: readonly GraphNode[]): (id: number) => number | undefined {
  const places = new Map(nodes.map((each, place) => [each.id, place]));
  return (id) => places.get(id);
}

/** Each page of a level has so many children. */
export function tree(...widths: number[]): GraphNode[] {
  const nodes = [node(1)];
  let level = [1];
  for (const [depth, width] of widths.entries()) {
    const next: number[] = [];
    for (const parent of level) {
      for (let child = 0; child < width; child++) {
        const id = nodes.length + 1;
        nodes.push(node(id, parent, { depth: depth + 1 }));
        next.push(id);
      }
    }
    level = next;
  }
  return nodes;
}
