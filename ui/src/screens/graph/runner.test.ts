import { describe, expect, it } from "vitest";
import type { Ask, Batch, Tell } from "./protocol";
import { pauseMs, Runner } from "./runner";

const batch = (size: number): Batch => ({
  parents: new Int32Array(size).fill(-1),
  depths: new Int32Array(size),
  communities: new Int32Array(size),
  known: null,
});
const lines = { pairs: Int32Array.of(0, 1, 1, 2), weights: Float32Array.of(1, 1) };

/** A runner whose time passes by 10 ms at every look at the clock. */
function started() {
  const told: Tell[] = [];
  const waiting: (() => void)[] = [];
  let now = 0;
  const runner = new Runner(
    (tell) => told.push(tell),
    (run) => waiting.push(run),
    () => {
      now += 10;
      return now;
    },
  );
  const rest = () => {
    for (let turn = 0; waiting.length && turn < 1000; turn++) waiting.shift()?.();
  };
  return { runner, told, waiting, rest };
}

const begin = (more: Partial<Extract<Ask, { do: "begin" }>> = {}): Ask => ({
  do: "begin",
  epoch: 1,
  kind: "links",
  live: true,
  held: false,
  batch: batch(3),
  lines,
  ...more,
});

describe("the runner of layouts", () => {
  it("tells the beginning at once, works, and rests", () => {
    const { runner, told, waiting, rest } = started();
    runner.hear(begin());
    expect(told).toMatchObject([{ epoch: 1, settled: false, whole: true }]);
    rest();
    expect(told.at(-1)).toMatchObject({ settled: true, whole: false });
    expect(waiting).toHaveLength(0);
  });

  it("goes on when something comes", () => {
    const { runner, told, rest } = started();
    runner.hear(begin());
    rest();
    const before = told.length;
    runner.hear({ do: "add", epoch: 1, held: false, batch: batch(1), lines });
    expect(told[before]).toMatchObject({ settled: false, whole: false });
    rest();
    expect(told.at(-1)?.settled).toBe(true);
    expect(told.at(-1)?.places).toHaveLength(8);
  });

  it("waits for links that are still being read", () => {
    const { runner, told, waiting, rest } = started();
    runner.hear(begin({ held: true }));
    expect(waiting).toHaveLength(0);
    expect(told.at(-1)?.settled).toBe(false);
    runner.hear({ do: "add", epoch: 1, held: false, batch: batch(0), lines });
    rest();
    expect(told.at(-1)?.settled).toBe(true);
  });

  it("lays a tree out in one go", () => {
    const { runner, told, waiting } = started();
    runner.hear(begin({ kind: "discovery" }));
    expect(told).toMatchObject([{ settled: true, whole: true }]);
    expect(waiting).toHaveLength(0);
    runner.hear({ do: "tidy", epoch: 1, live: false });
    expect(told).toHaveLength(2);
  });

  it("does not listen to words about a graph that is no more", () => {
    const { runner, told } = started();
    runner.hear(begin({ kind: "discovery", epoch: 2 }));
    runner.hear({ do: "add", epoch: 1, held: false, batch: batch(1), lines });
    expect(told).toHaveLength(1);
  });

  it("speaks at most ten times a second", () => {
    for (const order of [1, 4000, 10_000, 50_000]) expect(pauseMs(order)).toBeGreaterThanOrEqual(100);
  });
});

describe("the runner with a picture of groups", () => {
  const nest = (epoch: number, keys: string[], held = false): Ask => ({
    do: "nest",
    epoch,
    kind: "links",
    held,
    nest: {
      keys,
      areas: new Int32Array(keys.length),
      counts: new Float32Array(keys.length).fill(5),
      names: [""],
      above: Int32Array.of(-1),
    },
    lines,
  });

  it("tells places and rooms at once, and once more when they are laid out", () => {
    const { runner, told, rest } = started();
    runner.hear(nest(1, ["+a", "+b", "+c"]));
    expect(told).toMatchObject([{ epoch: 1, settled: false }]);
    expect(told[0]?.rooms?.radii).toHaveLength(3);
    rest();
    expect(told).toHaveLength(2);
    expect(told[1]).toMatchObject({ epoch: 1, settled: true });
  });

  it("goes on from picture to picture, and is tidied", () => {
    const { runner, told, rest } = started();
    runner.hear(nest(1, ["+a", "+b", "+c"]));
    rest();
    runner.hear(nest(2, ["+b", "+a"]));
    const [before, after] = told.slice(-2).map((tell) => [...tell.places]);
    expect(after).toEqual([before?.[2], before?.[3], before?.[0], before?.[1]]);
    runner.hear({ do: "tidy", epoch: 1, live: false });
    expect(told).toHaveLength(3);
    runner.hear({ do: "tidy", epoch: 2, live: false });
    expect(told.at(-1)).toMatchObject({ whole: true });
  });

  it("waits for links that are still being read", () => {
    const { runner, told, waiting } = started();
    runner.hear(nest(1, ["+a", "+b", "+c"], true));
    expect(waiting).toHaveLength(0);
    expect(told.at(-1)?.settled).toBe(false);
  });
});
