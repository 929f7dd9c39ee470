import { describe, expect, it } from "vitest";
import { indexed, node } from "../../testing/graphs";
import { discoveryEdges, EDGES_MAX, linesMax, linkEdges, strongest } from "./edges";
import { fold } from "./fold";
import { edgesFor } from "./level";
import { sceneOf } from "./scene";

const nodes = [1, 2, 3, 4, 5, 6].map((id) =>
  node(id, id > 1 ? 1 : null, { domain: id > 3 ? "b" : "a", url: `https://${id > 3 ? "b" : "a"}/${id}` }),
);
const flat = fold(nodes, indexed(nodes));
const grouped = fold(nodes, indexed(nodes), [], { whole: 3, drawn: 10 });

describe("edges", () => {
  it("are those of the pages, in their directions", () => {
    const links = linkEdges([Int32Array.of(1, 4), undefined, Int32Array.of(0)], 3, flat);
    expect([...links.pairs]).toEqual([0, 1, 0, 4, 2, 0]);
    expect(links.inside).toBe(0);
    expect([...discoveryEdges(nodes, indexed(nodes), flat).pairs]).toEqual([0, 1, 0, 2, 0, 3, 0, 4, 0, 5]);
  });

  it("are bundled between groups, whatever their direction", () => {
    const links = linkEdges([Int32Array.of(1, 3, 4), undefined, undefined, Int32Array.of(0)], 4, grouped);
    expect([...links.pairs]).toEqual([0, 1]);
    expect([...links.weights]).toEqual([3]);
    expect(links.inside).toBe(1);
  });

  it("never lead to the same place", () => {
    expect(linkEdges([Int32Array.of(0)], 1, flat)).toMatchObject({ weights: new Float32Array(), inside: 1 });
  });
});

/** 0-1 of 9 links, 1-2 of 5, 0-2 of 7, 3-2 of 1. */
const all = { pairs: Int32Array.of(0, 1, 1, 2, 0, 2, 3, 2), weights: Float32Array.of(9, 5, 7, 1), inside: 0 };

describe("the strongest edges", () => {
  const kept = (most: number, seen: Uint8Array | null = null) => [...strongest(all, 4, most, seen).weights];

  it("are all, if they fit", () => expect(kept(4)).toEqual([9, 5, 7, 1]));

  it("leave nothing unconnected as long as there is room", () => expect(kept(3)).toEqual([9, 7, 1]));

  it("stand for the most links", () => expect(kept(2)).toEqual([9, 7]));

  it("are exactly as many as there is room for, of many alike", () => {
    const pairs = Int32Array.from({ length: 200 }, (_, at) => (at % 2 ? 1 + (at % 99) : 0));
    expect(strongest({ pairs, weights: new Float32Array(100).fill(1) }, 101, 10).weights).toHaveLength(10);
  });

  it("prefer ends that have few others: the menu says nothing", () => {
    const menu = Int32Array.of(0, 9, 1, 9, 2, 9, 3, 9, 0, 1, 2, 3);
    const found = strongest({ pairs: menu, weights: new Float32Array(6).fill(1) }, 10, 2);
    expect([...found.pairs]).toEqual([0, 1, 2, 3]);
  });

  it("are of what is seen", () => {
    expect(kept(4, Uint8Array.of(0, 0, 1, 1))).toEqual([5, 7, 1]);
    expect(kept(1, Uint8Array.of(0, 0, 1, 1))).toEqual([1]);
    expect(kept(4, new Uint8Array(4))).toEqual([]);
  });

  it.each([
    [10, true, 60],
    [4000, true, 4000],
    [50_000, true, EDGES_MAX],
    [10, false, EDGES_MAX],
  ])("of %i items (groups: %s) are at most %i", (items, groups, most) => expect(linesMax(items, groups)).toBe(most));
});

describe("the level of detail", () => {
  const many = Array.from({ length: 100 }, (_, at) =>
    node(at + 1, null, { domain: `h${at % 50}`, url: `https://h${at % 50}/${at}` }),
  );
  const folded = fold(many, indexed(many), [], { whole: 10, drawn: 1000 });
  const out = many.map((_, at) => Int32Array.from({ length: 20 }, (_, step) => (at + step + 1) % 100));
  const scene = sceneOf(folded, linkEdges(out, 2000, folded));
  const placeOf = (key: string) => ({ x: folded.items.findIndex((item) => item.key === key), y: 0 });

  it("has the strongest of all from far away", () => {
    expect(scene.edges.weights.length).toBe(60);
    expect(edgesFor(scene, { x: [-1, 99], y: [-1, 1] }, placeOf)).toBe(scene.edges);
  });

  it("has those of what is seen from near", () => {
    const near = edgesFor(scene, { x: [0, 9], y: [-1, 1] }, placeOf);
    expect(near.weights.length).toBe(60);
    for (let edge = 0; edge < 45; edge++) {
      expect(near.pairs.slice(2 * edge, 2 * edge + 2).some((place) => place <= 9)).toBe(true);
    }
  });
});
