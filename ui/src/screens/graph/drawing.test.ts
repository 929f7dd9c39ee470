import { describe, expect, it } from "vitest";
import { indexed, node, tree } from "../../testing/graphs";
import { emptyDrawing, lineOf, outdated, present, put, redrawn, relined, update } from "./drawing";
import { discoveryEdges } from "./edges";
import { extentOf, widened } from "./extent";
import { fold } from "./fold";
import { type Look, type Scene, sceneOf } from "./scene";

function scene(nodes: ReturnType<typeof tree>): Scene {
  const folded = fold(nodes, indexed(nodes));
  return sceneOf(folded, discoveryEdges(nodes, indexed(nodes), folded));
}

const look: Look = { colour: (item) => item.node.state, size: () => 3, hidden: new Set() };

describe("the drawing", () => {
  it("adds what is new near its parent, and changes what has changed", () => {
    const graph = emptyDrawing();
    const nodes = tree(2);
    expect(update(graph, scene(nodes), look)).toEqual([]);
    expect([graph.order, graph.size]).toEqual([3, 2]);
    put(graph, ["1", "2", "3"], Float32Array.of(0, 0, 40, 50, 60, 70));
    nodes[2] = node(3, 1, { state: "failed" });
    nodes.push(node(4, 2));
    expect(update(graph, scene(nodes), look)).toEqual(["3"]);
    expect(graph.getNodeAttribute("3", "color")).toBe("failed");
    const { x, y } = graph.getNodeAttributes("4");
    expect(Math.hypot(x - 40, y - 50)).toBeLessThan(2);
    expect(graph.hasEdge("2", "4")).toBe(true);
  });

  it("is made anew when something vanishes, with everything in its place", () => {
    const graph = emptyDrawing();
    update(graph, scene(tree(3)), look);
    put(graph, ["1", "2", "3"], Float32Array.of(1, 2, 3, 4, 5, 6));
    const fewer = scene(tree(3).slice(0, 3));
    expect(outdated(graph, scene(tree(4)))).toBe(false);
    expect(outdated(graph, fewer)).toBe(true);
    const anew = redrawn(graph, fewer, look);
    expect([anew.order, anew.size]).toEqual([3, 2]);
    expect([...present(anew, ["1", "2", "3"], new Float32Array(6))]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("gives each the size of its room, and keeps it when its looks change", () => {
    const graph = emptyDrawing();
    update(graph, scene(tree(1)), look);
    put(graph, ["1", "2"], new Float32Array(4), Float32Array.of(10, 2));
    expect(graph.getNodeAttribute("1", "size")).toBe(30);
    update(graph, scene(tree(1)), { ...look, size: () => 4 });
    expect(graph.mapNodes((_, { size }) => size)).toEqual([40, 8]);
    put(graph, ["1", "2"], new Float32Array(4));
    expect(graph.getNodeAttribute("1", "size")).toBe(4);
  });

  it("draws other lines between the same nodes", () => {
    const graph = emptyDrawing();
    const shown = scene(tree(2));
    update(graph, shown, look);
    relined(graph, shown, { pairs: Int32Array.of(1, 2), weights: Float32Array.of(1) });
    expect(graph.edges().map((edge) => graph.extremities(edge))).toEqual([["2", "3"]]);
    expect(update(graph, shown, look, { pairs: Int32Array.of(1, 2), weights: Float32Array.of(1) })).toEqual([]);
    expect(graph.size).toBe(1);
  });

  it.each([
    [1, 100, "thin", 0.5],
    [25, 100, "line", 3.75],
    [100, 100, "line", 7],
  ])("makes a bundle of %i of at most %i links a %s of %f px", (weight, most, type, size) => {
    expect(lineOf(weight, most, true)).toEqual({ type, size });
    expect(lineOf(weight, most, true, 0.5).size).toBe(size / 2);
  });

  it("knows how far it reaches", () => {
    expect(extentOf(new Float32Array())).toBeNull();
    const extent = extentOf(Float32Array.of(0, 0, 10, 4));
    expect(extent).toEqual({ x: [0, 10], y: [0, 4] });
    expect(extent && widened(extent, 3)).toEqual({ x: [0, 10], y: [-1, 5] });
  });
});
