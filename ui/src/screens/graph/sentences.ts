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
  lines: number;
  shown: number; // links or finds that the lines stand for
  weaker: number; // lines that are not drawn
  inside: number; // links inside of groups
  all: number; // links or finds that lines could stand for, and those inside of groups
  grouped: boolean;
  kind: Kind;
  cut: boolean; // more nodes than are loaded
  linksCut: boolean;
  linksRead: boolean;
  links: number;
}

/** What is in the picture, and everything that is not. */
export function contents(facts: Facts): string[] {
  const { nodes, drawn, hidden, kind } = facts;
  const things = facts.grouped
    ? `${many(drawn, "group or page", "groups and pages")} for ${many(nodes, "node")}`
    : many(drawn, "node");
  const lines = [`${things}, ${lineWords(facts)}`];
  if (hidden) lines.push(`${count(hidden)} hidden by the legend or the focus`);
  if (kind === "links" && !facts.linksRead) lines.push(`reading links: ${count(facts.links)} so far`);
  if (facts.cut) lines.push(`the first ${count(nodes)} URLs of the crawl: more are not loaded`);
  if (facts.linksCut) lines.push(`the first ${count(facts.links)} links: more are not loaded`);
  return lines;
}

/** Which of the edges are drawn, and where the others are. */
function lineWords({ kind, lines, shown, weaker, inside, all, grouped }: Facts): string {
  const word = kind === "links" ? "link" : "edge";
  if (!grouped && !weaker) return many(lines, word);
  const parts = grouped
    ? [`${many(lines, "line")} for ${count(shown)} of ${many(all, word)}`]
    : [`showing the ${count(lines)} strongest of ${many(all, word)}`];
  if (inside) parts.push(`${count(inside)} are inside of groups`);
  if (weaker)
    parts.push(`${many(weaker, "weaker line")} left out: come nearer, or point at a node to see all of its own`);
  return parts.join("; ");
}

export function layoutWords(settled: boolean, live: boolean, every: number): string {
  const layout = settled ? "The layout rests" : "The layout is at work";
  return live ? `${layout}; read again every ${many(every, "second")}.` : `${layout}; the crawl is over.`;
}
