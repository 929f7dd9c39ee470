/** The graph as the renderer holds it: what is new is added, what has changed is changed, the rest is left alone. */
import { DirectedGraph } from "graphology";
import type { Item } from "./fold";
import { labelOf } from "./labels";
import type { Look, Scene } from "./scene";

export type Dot = { x: number; y: number; size: number; color: string; label: string };
export type Line = { size: number };
export type Drawing = DirectedGraph<Dot, Line>;

const LINE_MAX = 4;

export const emptyDrawing = (): Drawing => new DirectedGraph<Dot, Line>();

function name(item: Item): string {
  return item.fold ? `${item.fold.name} (${item.fold.count})` : labelOf(item.node);
}

/** Near its parent, not on it: they would hide each other until the layout has spoken. */
function beside(graph: Drawing, parent: string | undefined, place: number): { x: number; y: number } {
  if (parent === undefined || !graph.hasNode(parent)) return { x: 0, y: 0 };
  const { x, y } = graph.getNodeAttributes(parent);
  return { x: x + Math.cos(place), y: y + Math.sin(place) };
}

function addEdges(graph: Drawing, { items, edges }: Scene): void {
  for (let edge = 0; edge < edges.weights.length; edge++) {
    const from = items[edges.pairs[2 * edge] ?? -1]?.key;
    const to = items[edges.pairs[2 * edge + 1] ?? -1]?.key;
    if (from === undefined || to === undefined || graph.hasDirectedEdge(from, to)) continue;
    const weight = edges.weights[edge] ?? 1;
    graph.addDirectedEdge(from, to, { size: Math.min(LINE_MAX, 0.6 + Math.log2(weight) / 2) });
  }
}

/** Answers the keys of nodes whose looks have changed. */
export function update(graph: Drawing, scene: Scene, look: Look): string[] {
  const touched: string[] = [];
  let added = false;
  for (const [place, item] of scene.items.entries()) {
    const looks = { size: look.size(item, place), color: look.colour(item), label: name(item) };
    if (!graph.hasNode(item.key)) {
      graph.addNode(item.key, { ...beside(graph, scene.items[item.parent]?.key, place), ...looks });
      added = true;
      continue;
    }
    // The record itself: one event for each of 50,000 would take longer than drawing them.
    const dot = graph.getNodeAttributes(item.key);
    if (dot.size === looks.size && dot.color === looks.color && dot.label === looks.label) continue;
    Object.assign(dot, looks);
    touched.push(item.key);
  }
  if (added || graph.size !== scene.edges.weights.length) addEdges(graph, scene);
  return touched;
}

/** Something that is drawn is not wanted any more. The renderer goes over everything for each thing it drops. */
export function outdated(graph: Drawing, { items, edges }: Scene): boolean {
  let known = 0;
  for (const item of items) if (graph.hasNode(item.key)) known += 1;
  return known < graph.order || edges.weights.length < graph.size;
}

/** From the beginning, with everything that stays where it was. */
export function redrawn(before: Drawing, scene: Scene, look: Look): Drawing {
  const graph = emptyDrawing();
  for (const [place, item] of scene.items.entries()) {
    const old = before.hasNode(item.key) ? before.getNodeAttributes(item.key) : null;
    const at = old ? { x: old.x, y: old.y } : beside(before, scene.items[item.parent]?.key, place);
    graph.addNode(item.key, { ...at, size: look.size(item, place), color: look.colour(item), label: name(item) });
  }
  addEdges(graph, scene);
  return graph;
}

/** x, y by the order of the keys. Into the records themselves, as above; those that came later have none yet. */
export function put(graph: Drawing, keys: readonly string[], places: Float32Array): void {
  for (let slot = 0; 2 * slot < places.length; slot++) {
    const key = keys[slot];
    if (key === undefined || !graph.hasNode(key)) continue;
    const dot = graph.getNodeAttributes(key);
    dot.x = places[2 * slot] ?? 0;
    dot.y = places[2 * slot + 1] ?? 0;
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
