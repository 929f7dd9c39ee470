/** Communities that a graph without groups makes visible: hosts, or the folders of the only host. */
import type { GraphNode } from "../../api/types";
import { folderOf } from "./labels";

export type Grouping = (node: GraphNode) => string;

export function groupingOf(nodes: readonly GraphNode[]): Grouping {
  const first = nodes[0]?.domain;
  return nodes.some((node) => node.domain !== first) ? (node) => node.domain : (node) => folderOf(node.url);
}
