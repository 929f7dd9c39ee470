/** What the colours mean, with counts. An entry is also a filter: its key is what the address keeps. */
import type { GraphNode } from "../../api/types";
import { words } from "../../words/format";
import { STATES } from "../../words/states";
import type { Colour } from "./address";
import { DEPTHS_MAX, HOSTS_MAX, type Palette } from "./colours";
import type { Item } from "./fold";

export interface Entry {
  key: string;
  name: string;
  count: number;
  colour: string;
}

export const OTHER_HOSTS = "*"; // no host has this name

/** The hosts that have a colour. One that has got one keeps it, however the others grow. */
export function colouredHosts(before: readonly string[], nodes: readonly GraphNode[]): string[] {
  if (before.length >= HOSTS_MAX) return [...before];
  const sizes = new Map<string, number>();
  for (const { domain } of nodes) sizes.set(domain, (sizes.get(domain) ?? 0) + 1);
  const kept = before.filter((host) => sizes.has(host));
  const others = [...sizes].filter(([host]) => !kept.includes(host)).sort((a, b) => b[1] - a[1]);
  return [...kept, ...others.map(([host]) => host)].slice(0, HOSTS_MAX);
}

export function keyOfNode(node: GraphNode, colour: Colour, hosts: readonly string[]): string {
  if (colour === "state") return node.state;
  if (colour === "depth") return String(Math.min(node.depth, DEPTHS_MAX));
  return hosts.includes(node.domain) ? node.domain : OTHER_HOSTS;
}

/** A fold stands for what most of it is. */
export function keyOfItem({ node, fold }: Item, colour: Colour, hosts: readonly string[]): string {
  return keyOfNode(fold ? { ...node, state: fold.leading } : node, colour, hosts);
}

export function colourOf(key: string, colour: Colour, hosts: readonly string[], palette: Palette): string {
  if (colour === "state") return palette.states[key as GraphNode["state"]] ?? palette.other;
  if (colour === "depth") return palette.depths[Number(key)] ?? palette.other;
  return palette.hosts[hosts.indexOf(key)] ?? palette.other;
}

function keysOf(colour: Colour, hosts: readonly string[]): string[] {
  if (colour === "state") return [...STATES];
  if (colour === "depth") return Array.from({ length: DEPTHS_MAX + 1 }, (_, depth) => String(depth));
  return [...hosts, OTHER_HOSTS];
}

function nameOf(key: string, colour: Colour): string {
  if (colour === "state") return words(key);
  if (colour === "depth") return Number(key) === DEPTHS_MAX ? `depth ${key} and deeper` : `depth ${key}`;
  return key === OTHER_HOSTS ? "other hosts" : key;
}

/** In a fixed order; what is hidden stays, so that it can be shown again. */
export function legendOf(
  nodes: readonly GraphNode[],
  colour: Colour,
  hosts: readonly string[],
  palette: Palette,
  hidden: readonly string[],
): Entry[] {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const key = keyOfNode(node, colour, hosts);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return keysOf(colour, hosts)
    .map((key) => ({
      key,
      name: nameOf(key, colour),
      count: counts.get(key) ?? 0,
      colour: colourOf(key, colour, hosts, palette),
    }))
    .filter((entry) => entry.count > 0 || hidden.includes(entry.key));
}
