import { describe, expect, it, vi } from "vitest";
import { indexed, node, tree } from "../../testing/graphs";
import { discoveryEdges } from "./edges";
import { BOUNDS, fold } from "./fold";
import { Layouter } from "./layouter";
import type { Ask } from "./protocol";
import { type Scene, sceneOf } from "./scene";

function scene(nodes: ReturnType<typeof tree>, bounds = BOUNDS.discovery, open: string[] = []): Scene {
  const folded = fold(nodes, indexed(nodes), open, bounds);
  return sceneOf(folded, discoveryEdges(nodes, indexed(nodes), folded));
}

const situation = { kind: "discovery", live: true, held: false } as const;

function made() {
  const asked: Ask[] = [];
  const placed = vi.fn();
  const layouter = new Layouter({ postMessage: (ask) => asked.push(ask), terminate: () => undefined }, placed);
  return { asked, placed, layouter };
}

describe("the layouter", () => {
  it("sends everything once, then what is new", () => {
    const { asked, layouter } = made();
    const nodes = tree(2);
    layouter.show(scene(nodes), situation);
    layouter.show(scene(nodes), situation);
    expect(asked).toHaveLength(1);
    layouter.show(scene([...nodes, node(9, 2)]), situation);
    expect(asked[1]).toMatchObject({ do: "add", epoch: 1, batch: { parents: Int32Array.of(1) } });
    expect(layouter.added).toBe(1);
  });

  it("begins anew when something vanishes, with what is known of the rest", () => {
    const { asked, layouter } = made();
    const nodes = tree(2);
    layouter.show(scene(nodes), { ...situation, kind: "links" });
    layouter.hear({ epoch: 1, places: Float32Array.of(1, 2, 3, 4, 5, 6), settled: true, whole: true, rooms: null });
    layouter.show(scene(nodes.slice(0, 2)), { ...situation, kind: "links" });
    expect(asked[1]).toMatchObject({ do: "begin", epoch: 2, batch: { known: Float32Array.of(1, 2, 3, 4) } });
  });

  it("does not take the word of an earlier layout", () => {
    const { placed, layouter } = made();
    layouter.show(scene(tree(2)), situation);
    layouter.show(scene(tree(2)), { ...situation, kind: "links" });
    layouter.hear({ epoch: 1, places: new Float32Array(6), settled: true, whole: true, rooms: null });
    expect(placed).not.toHaveBeenCalled();
    expect(layouter.settled).toBe(false);
  });

  it("asks for a picture of groups as a whole, and only when it has changed", () => {
    const { asked, layouter } = made();
    const nodes = [1, 2, 3, 4, 5].map((id) =>
      node(id, null, { url: `https://a.example/${id % 2 ? "odd" : "even"}/${id}` }),
    );
    const small = { whole: 4, drawn: 100 };
    layouter.show(scene(nodes, small), situation);
    layouter.show(scene(nodes, small), situation);
    expect(asked).toMatchObject([
      { do: "nest", epoch: 1, nest: { keys: ["+a.example/odd", "+a.example/even"], counts: Float32Array.of(3, 2) } },
    ]);
    layouter.show(scene(nodes, small, ["a.example/odd"]), situation);
    expect(asked[1]).toMatchObject({
      do: "nest",
      epoch: 2,
      nest: { names: ["a.example", "a.example/odd"], above: Int32Array.of(-1, 0) },
    });
    expect(layouter.added).toBe(0);
    layouter.show(scene([...nodes, node(7, null, { url: "https://a.example/odd/7" })], small), situation);
    expect(layouter.added).toBe(1);
  });

  it("puts what was found on no page beside the seed of its host", () => {
    const { asked, layouter } = made();
    const lost = node(9, 77, { domain: "b.example", url: "https://b.example/x" });
    const seed = node(2, null, { domain: "b.example", url: "https://b.example/" });
    layouter.show(scene([node(1), seed, lost]), situation);
    expect(asked[0]).toMatchObject({ batch: { parents: Int32Array.of(-1, -1, 1) } });
  });
});
