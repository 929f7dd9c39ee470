/** The graph as the renderer holds it: what is new is added, what has changed is changed, the rest is left alone. */
import { DirectedGraph } from "graphology";
import { count } from "../../words/format";
import type { Bundles } from "./edges";
import type { Item } from "./fold";
import { labelOf } from "./labels";
import type { Look, Scene } from "./scene";

/** Its size is what it looks like (`look`) times the room that it has, which is 1 where nothing is grouped. */
export type Dot = { x: number; y: number; size: number; color: string; label: string; look: number; room: number };
export type Line = { size: number; type?: "thin" | "line" };
export type Drawing = DirectedGraph<Dot, Line>;

const LINE_MAX = 4;
const BUNDLE_MAX = 7; // px of the line that stands for the most links
const BUNDLE_MIN = 0.5;

export const emptyDrawing = (): Drawing => new DirectedGraph<Dot, Line>();

function name(item: Item): string {
  return item.fold ? `${item.fold.label} (${count(item.fold.count)})` : labelOf(item.node);
}

/** Near its parent, not on it: they would hide each other until the layout has spoken. */
function beside(graph: Drawing, parent: string | undefined, place: number): { x: number; y: number } {
  if (parent === undefined || !graph.hasNode(parent)) return { x: 0, y: 0 };
  const { x, y } = graph.getNodeAttributes(parent);
  return { x: x + Math.cos(place), y: y + Math.sin(place) };
}

/** Between groups a line is as wide as it stands for links: the area of its ink tells. */
export function lineOf(weight: number, most: number, grouped: boolean, zoom = 1): Line {
  if (!grouped) return { size: Math.min(LINE_MAX, 0.6 + Math.log2(weight) / 2) };
  if (weight <= 1) return { size: BUNDLE_MIN * zoom, type: "thin" };
  const size = BUNDLE_MIN + (BUNDLE_MAX - BUNDLE_MIN) * Math.sqrt(weight / most);
  return { size: size * zoom, type: "line" };
}

function addEdges(graph: Drawing, { items, areas }: Scene, edges: Bundles, zoom = 1): void {
  const most = edges.weights.reduce((largest, weight) => Math.max(largest, weight), 1);
  for (let edge = 0; edge < edges.weights.length; edge++) {
    const from = items[edges.pairs[2 * edge] ?? -1]?.key;
    const to = items[edges.pairs[2 * edge + 1] ?? -1]?.key;
    if (from === undefined || to === undefined || graph.hasDirectedEdge(from, to)) continue;
    graph.addDirectedEdge(from, to, lineOf(edges.weights[edge] ?? 1, most, areas.length > 0, zoom));
  }
}

/** Draws other edges between the same nodes. */
export function relined(graph: Drawing, scene: Scene, edges: Bundles, zoom = 1): void {
  graph.clearEdges();
  addEdges(graph, scene, edges, zoom);
}

/** Answers the keys of nodes whose looks have changed. */
export function update(graph: Drawing, scene: Scene, look: Look, lines: Bundles = scene.edges): string[] {
  const touched: string[] = [];
  let added = false;
  for (const [place, item] of scene.items.entries()) {
    const looks = { look: look.size(item, place), color: look.colour(item), label: name(item) };
    if (!graph.hasNode(item.key)) {
      const at = beside(graph, scene.items[item.parent]?.key, place);
      graph.addNode(item.key, { ...at, ...looks, size: looks.look, room: 1 });
      added = true;
      continue;
    }
    // The record itself: one event for each of 50,000 would take longer than drawing them.
    const dot = graph.getNodeAttributes(item.key);
    if (dot.look === looks.look && dot.color === looks.color && dot.label === looks.label) continue;
    Object.assign(dot, looks, { size: looks.look * dot.room });
    touched.push(item.key);
  }
  if (added || graph.size !== lines.weights.length) addEdges(graph, scene, lines);
  return touched;
}

/** Whether anything drawn must go. The renderer goes over everything for each thing it drops. */
export function outdated(graph: Drawing, { items, edges }: Scene, lines: Bundles = edges): boolean {
  let known = 0;
  for (const item of items) if (graph.hasNode(item.key)) known += 1;
  return known < graph.order || lines.weights.length < graph.size;
}

/** Draws anew, with everything that stays in its place. */
export function redrawn(before: Drawing, scene: Scene, look: Look, zoom = 1): Drawing {
  const graph = emptyDrawing();
  for (const [place, item] of scene.items.entries()) {
    const old = before.hasNode(item.key) ? before.getNodeAttributes(item.key) : null;
    const at = old ? { x: old.x, y: old.y } : beside(before, scene.items[item.parent]?.key, place);
    const own = look.size(item, place);
    const room = old?.room ?? 1;
    graph.addNode(item.key, { ...at, look: own, room, size: own * room, color: look.colour(item), label: name(item) });
  }
  addEdges(graph, scene, scene.edges, zoom);
  return graph;
}

/** x, y by the order of the keys. Into the records themselves, as above; those that came later have none yet. */
export function put(
  graph: Drawing,
  keys: readonly string[],
  places: Float32Array,
  rooms: Float32Array | null = null,
): void {
  for (let slot = 0; 2 * slot < places.length; slot++) {
    const key = keys[slot];
    if (key === undefined || !graph.hasNode(key)) continue;
    const dot = graph.getNodeAttributes(key);
    dot.x = places[2 * slot] ?? 0;
    dot.y = places[2 * slot + 1] ?? 0;
    dot.room = rooms?.[slot] ?? 1;
    dot.size = dot.look * dot.room;
  }
}

/** Where they stand now; what is not drawn is where it shall be. */
export function present(graph: Drawing, keys: readonly string[], places: Float32Array): Float32Array {
  const now = places.slice();
  for (let slot = 0; 2 * slot < places.length; slot++) {
    const key = keys[slot];
    if (key === undefined || !graph.hasNode(key)) continue;
    const { x, y } = graph.getNodeAttributes(key);
    now[2 * slot] = x;
    now[2 * slot + 1] = y;
  }
  return now;
}
