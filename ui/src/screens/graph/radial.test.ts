import { describe, expect, it } from "vitest";
import type { GraphNode } from "../../api/types";
import { indexed, node, tree } from "../../testing/graphs";
import type { Batch } from "./protocol";
import { Radial } from "./radial";

function batch(nodes: readonly GraphNode[], from = 0): Batch {
  const place = indexed(nodes);
  const added = nodes.slice(from);
  return {
    parents: Int32Array.from(added, (each) => (each.parent === null ? -1 : (place(each.parent) ?? -1))),
    depths: Int32Array.from(added, (each) => each.depth),
    communities: new Int32Array(added.length),
    known: null,
  };
}

function laidOut(nodes: readonly GraphNode[], live = false): Radial {
  const layout = new Radial(live);
  layout.add(batch(nodes));
  return layout;
}

const SLACK = 1e-9;

/** Children lie inside their parents' wedges, siblings beside each other. */
function check(layout: Radial, nodes: readonly GraphNode[]): void {
  const { parents } = batch(nodes);
  const siblings = new Map<number, [number, number][]>();
  for (const [slot, parent] of parents.entries()) {
    const [from, to] = layout.wedge(slot);
    expect(to).toBeGreaterThan(from);
    siblings.set(parent, [...(siblings.get(parent) ?? []), [from, to]]);
    if (parent < 0) continue;
    const [outerFrom, outerTo] = layout.wedge(parent);
    expect(from).toBeGreaterThanOrEqual(outerFrom - SLACK);
    expect(to).toBeLessThanOrEqual(outerTo + SLACK);
    expect(layout.radius(slot)).toBeGreaterThan(layout.radius(parent));
  }
  for (const wedges of siblings.values()) {
    wedges.sort((a, b) => a[0] - b[0]);
    for (let at = 1; at < wedges.length; at++) {
      expect(wedges[at]?.[0] ?? 0).toBeGreaterThanOrEqual((wedges[at - 1]?.[1] ?? 0) - SLACK);
    }
  }
}

describe("the radial layout", () => {
  it("puts the only seed in the middle and gives wedges by leaves", () => {
    const nodes = [node(1), node(2, 1), node(3, 1), ...[4, 5, 6].map((id) => node(id, 3, { depth: 2 }))];
    const layout = laidOut(nodes);
    check(layout, nodes);
    expect(layout.radius(0)).toBe(0);
    const width = (slot: number) => layout.wedge(slot)[1] - layout.wedge(slot)[0];
    expect(width(2) / width(1)).toBeCloseTo(3);
  });

  it.each([[[5, 5, 5]], [[300, 2]], [[1, 1, 1, 1, 1, 50]], [[2000]]])("keeps wedges apart in a tree of %j", (widths) =>
    check(laidOut(tree(...widths)), tree(...widths)),
  );

  it("spreads a crowded ring over rows", () => {
    const places = laidOut(tree(2000)).places();
    const seen = new Set(
      Array.from({ length: 2001 }, (_, slot) => `${places[2 * slot]?.toFixed(2)} ${places[2 * slot + 1]?.toFixed(2)}`),
    );
    expect(seen.size).toBe(2001);
  });

  it("places what is new without moving what stands", () => {
    const nodes = tree(4, 3);
    const layout = laidOut(nodes, true);
    const before = layout.places();
    const grown = [...nodes];
    for (const parent of [2, 2, 6, 17, 1]) grown.push(node(grown.length + 1, parent, { depth: 3 }));
    grown.push(node(99, grown.length, { depth: 4 }));
    layout.add(batch(grown, nodes.length));
    expect(layout.places().slice(0, before.length)).toEqual(before);
    check(layout, grown);
  });

  it("can grow again and again", () => {
    const nodes = [node(1)];
    const layout = laidOut(nodes, true);
    for (let round = 0; round < 30; round++) {
      const from = nodes.length;
      for (let child = 0; child < 10; child++) nodes.push(node(nodes.length + 1, 1 + ((round * 7 + child) % from)));
      layout.add(batch(nodes, from));
    }
    check(layout, nodes);
  });

  it("takes the order in which nodes come as it is", () => {
    const nodes = [node(3, 2, { depth: 2 }), node(2, 1), node(1)];
    check(laidOut(nodes), nodes);
  });

  it("puts several seeds and lost nodes on rings, and breaks circles", () => {
    const nodes = [node(1), node(2), node(3, 77, { depth: 3 }), node(4, 5), node(5, 4)];
    const places = laidOut(nodes).places();
    expect(places.every(Number.isFinite)).toBe(true);
  });

  it("gives everything its share when it is tidied", () => {
    const nodes = tree(3);
    const layout = laidOut(nodes, true);
    const grown = [...nodes, ...Array.from({ length: 50 }, (_, at) => node(at + 10, 2, { depth: 2 }))];
    layout.add(batch(grown, nodes.length));
    layout.tidy(false);
    check(layout, grown);
    expect(layout.wedge(1)[1] - layout.wedge(1)[0]).toBeGreaterThan(5);
  });
});
