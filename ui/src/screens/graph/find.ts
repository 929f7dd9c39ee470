import type { GraphNode } from "../../api/types";
import { many } from "../../words/format";
import type { Group } from "./fold";
import { shortened } from "./labels";

export const FOUND_MAX = 20;
const LOOKED_MAX = 200; // matches among which the best are chosen

export type Found =
  | { kind: "node"; key: string; id: number; text: string; note: string }
  | { kind: "fold"; key: string; name: string; text: string; note: string };

const TEXT_MAX = 120;
const GROUPS_MAX = 5; // the rest is for nodes

function fromNode(node: GraphNode): Found {
  return {
    kind: "node",
    key: String(node.id),
    id: node.id,
    text: shortened(node.url, TEXT_MAX),
    note: shortened(node.title ?? "", 60),
  };
}

function fromGroup(group: Group): Found {
  const inside = many(group.count, "node");
  return {
    kind: "fold",
    key: `+${group.name}`,
    name: group.name,
    text: group.name,
    note: `group of ${inside}: open it`,
  };
}

/** Part of a URL or of a title, in any case; the largest groups first, then the shortest URLs. */
export function find(text: string, nodes: readonly GraphNode[], groups: readonly Group[]): Found[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const folds = groups
    .filter((group) => group.shown < group.count && group.name.toLowerCase().includes(wanted))
    .sort((a, b) => b.count - a.count)
    .slice(0, GROUPS_MAX);
  const matches: GraphNode[] = [];
  for (const node of nodes) {
    if (!node.url.toLowerCase().includes(wanted) && !node.title?.toLowerCase().includes(wanted)) continue;
    matches.push(node);
    if (matches.length >= LOOKED_MAX) break;
  }
  matches.sort((a, b) => a.url.length - b.url.length || a.id - b.id);
  return [...folds.map(fromGroup), ...matches.map(fromNode)].slice(0, FOUND_MAX);
}
