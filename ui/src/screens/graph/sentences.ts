import { count, many } from "../../words/format";
import type { Colour, Kind } from "./address";
import type { Entry } from "./legend";

export const KIND_NAMES: Record<Kind, string> = { discovery: "Discovery tree", links: "Link graph" };

/** The picture for those who do not see it. */
export function pictureLabel(
  kind: Kind,
  nodes: number,
  edges: number,
  colour: Colour,
  legend: readonly Entry[],
): string {
  const parts = legend.filter((entry) => entry.count).map((entry) => `${entry.name} ${count(entry.count)}`);
  const by = parts.length ? ` By ${colour}: ${parts.join(", ")}.` : "";
  return `${KIND_NAMES[kind]} with ${many(nodes, "node")} and ${many(edges, "edge")}.${by} Find any of them with the search box.`;
}

/** While it is read for the first time. */
export function progressWords(nodes: number, total: number | null): string {
  if (!nodes) return "Reading the graph …";
  const of = total && total > nodes ? ` of about ${count(total)}` : "";
  return `${count(nodes)}${of} nodes …`;
}

interface Facts {
  nodes: number;
  drawn: number;
  hidden: number;
  edges: number;
  left: number; // edges that are known but not drawn
  kind: Kind;
  cut: boolean; // more nodes than are loaded
  linksCut: boolean;
  linksRead: boolean;
  links: number;
}

/** What is in the picture, and everything that is not. */
export function contents(facts: Facts): string[] {
  const { nodes, drawn, hidden, edges, left, kind } = facts;
  const lines = [`${many(drawn, "node")}, ${many(edges, kind === "links" ? "link" : "edge")}`];
  if (hidden) lines.push(`${count(hidden)} hidden by the legend or the focus`);
  if (kind === "links" && !facts.linksRead) lines.push(`reading links: ${count(facts.links)} so far`);
  if (left) lines.push(`${many(left, "link")} more are known, each page shows as many of its own as there is room for`);
  if (facts.cut) lines.push(`the first ${count(nodes)} URLs of the crawl: more are not loaded`);
  if (facts.linksCut) lines.push(`the first ${count(facts.links)} links: more are not loaded`);
  return lines;
}

export function layoutWords(settled: boolean, live: boolean, every: number): string {
  const layout = settled ? "The layout rests" : "The layout is at work";
  return live ? `${layout}; read again every ${many(every, "second")}.` : `${layout}; the crawl is over.`;
}
