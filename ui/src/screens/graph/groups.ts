/** Communities that the graph makes visible: hosts, or the folders of the only host. */
import type { GraphNode } from "../../api/types";
import { folderOf } from "./labels";

export type Grouping = (node: GraphNode) => string;

export function groupingOf(nodes: readonly GraphNode[]): { by: "host" | "folder"; group: Grouping } {
  const first = nodes[0]?.domain;
  return nodes.some((node) => node.domain !== first)
    ? { by: "host", group: (node) => node.domain }
    : { by: "folder", group: (node) => folderOf(node.url) };
}
