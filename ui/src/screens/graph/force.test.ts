import { describe, expect, it } from "vitest";
import { Force, stepsMax } from "./force";
import type { Batch, Lines } from "./protocol";
import { packed, seeds } from "./seeds";

function batch(communities: number[], parent = -1): Batch {
  return {
    parents: new Int32Array(communities.length).fill(parent),
    depths: new Int32Array(communities.length),
    communities: Int32Array.from(communities),
    known: null,
  };
}

function rings(...sizes: number[]): Lines {
  const pairs: number[] = [];
  let first = 0;
  for (const size of sizes) {
    for (let at = 0; at < size; at++) pairs.push(first + at, first + ((at + 1) % size));
    first += size;
  }
  return { pairs: Int32Array.from(pairs), weights: new Float32Array(pairs.length / 2).fill(1) };
}

function settle(force: Force): number {
  let steps = 0;
  while (!force.settled && steps < 10_000) {
    force.step();
    steps += 1;
  }
  return steps;
}

const centre = (places: Float32Array, from: number, to: number) => {
  let [x, y] = [0, 0];
  for (let slot = from; slot < to; slot++) {
    x += (places[2 * slot] ?? 0) / (to - from);
    y += (places[2 * slot + 1] ?? 0) / (to - from);
  }
  return { x, y };
};

describe("the force layout", () => {
  it("comes to rest within its bound", () => {
    const force = new Force();
    force.add(batch(Array.from({ length: 60 }, (_, at) => at % 3)));
    force.link(rings(60));
    expect(force.settled).toBe(false);
    expect(settle(force)).toBeLessThanOrEqual(stepsMax(60));
    expect(force.places().every(Number.isFinite)).toBe(true);
  });

  it("keeps communities apart", () => {
    const force = new Force();
    force.add(batch([...Array(20).fill(0), ...Array(20).fill(1)]));
    force.link(rings(20, 20));
    settle(force);
    const places = force.places();
    const [a, b] = [centre(places, 0, 20), centre(places, 20, 40)];
    expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(20);
  });

  it("holds what has settled when something comes", () => {
    const force = new Force();
    force.add(batch(Array(30).fill(0)));
    force.link(rings(30));
    settle(force);
    const before = force.places();
    force.add(batch([0, 0], 4));
    force.link(rings(32));
    const entered = force.places();
    const parent = { x: before[8] ?? 0, y: before[9] ?? 0 };
    expect(Math.hypot((entered[60] ?? 0) - parent.x, (entered[61] ?? 0) - parent.y)).toBeLessThan(30);
    expect(settle(force)).toBeGreaterThan(0);
    expect(force.places().slice(0, 60)).toEqual(before);
    force.tidy();
    settle(force);
    expect(force.places().slice(0, 60)).not.toEqual(before);
  });

  it("stays about as large as it began, so that the camera can rest", () => {
    const force = new Force();
    force.add(batch(Array(50).fill(0)));
    force.link(rings(50));
    const size = () => Math.max(...force.places().map(Math.abs));
    const before = size();
    settle(force);
    expect(size() / before).toBeGreaterThan(0.4);
    expect(size() / before).toBeLessThan(2.5);
  });

  it("has nothing to do with one node", () => {
    const force = new Force();
    force.add(batch([0]));
    force.link(rings());
    settle(force);
    expect([...force.places()]).toEqual([0, 0]);
  });
});

describe("seeds", () => {
  it("packs discs without overlap", () => {
    const radii = [9, 7, 5, 5, 4, 3, 3, 2, ...Array(60).fill(1)];
    const discs = packed(radii);
    for (const [at, a] of discs.entries()) {
      for (const b of discs.slice(at + 1)) {
        expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThanOrEqual((a.radius + b.radius) * 0.99);
      }
    }
  });

  it("gives every node a place of its own", () => {
    const places = seeds(
      Int32Array.from({ length: 500 }, (_, at) => at % 40),
      12,
    );
    const all = new Set(Array.from({ length: 500 }, (_, slot) => `${places[2 * slot]} ${places[2 * slot + 1]}`));
    expect(all.size).toBe(500);
  });
});
