import { describe, expect, it } from "vitest";
import type { Worker } from "../../api/types";
import { aWorker } from "../../testing/records";
import { cores, endedOf, keyed, openOf, partitionsOf, pulseOf, shownOf, toggled } from "./pulse";

const NOW = Date.parse("2026-03-01T10:00:00Z");
const seen = (ms: number) => new Date(NOW - ms).toISOString();
const worker = (id: number, alive = true) => aWorker(id, { alive, partitions: 4 });
const ids = (workers: Worker[]) => workers.map(({ id }) => id);
const search = (text: string) => new URLSearchParams(text);

describe("pulseOf", () => {
  it.each([
    [true, 0, "fresh"],
    [true, 5_000, "fresh"],
    [true, 5_001, "late"],
    [true, 3_600_000, "late"],
    [true, -20_000, "fresh"],
    [false, 0, "ended"],
    [false, 60_000, "ended"],
  ])("alive %s, heard %s ms ago: %s", (alive, ms, pulse) => {
    expect(pulseOf({ alive, seen_at: seen(ms) }, NOW)).toBe(pulse);
  });
});

describe("rows", () => {
  const workers = [worker(9), worker(7, false), worker(3), worker(5, false)];

  it("are those that live, by id", () => {
    expect(ids(shownOf(workers, new Set()))).toEqual([3, 9]);
    expect(ids(endedOf(workers, new Set()))).toEqual([7, 5]);
  });

  it("stay under the pointer when their worker ends, and are nowhere twice", () => {
    const held = new Set([3, 7]);
    expect(ids(shownOf(workers, held))).toEqual([3, 7, 9]);
    expect(ids(endedOf(workers, held))).toEqual([5]);
  });

  it("share the partitions of those that live", () => expect(partitionsOf(workers)).toBe(8));
});

describe("rows that are open", () => {
  it("are in the address", () => {
    expect([...openOf(search("open=3,x,8,"))]).toEqual([3, 8]);
    expect(toggled(search("ended=1"), 8).toString()).toBe("ended=1&open=8");
    expect(toggled(search("open=8"), 3).get("open")).toBe("3,8");
    expect(toggled(search("open=8"), 8).toString()).toBe("");
  });
});

it("gives each URL a key of its own", () => {
  const keys = keyed(["a", "b", "a"]).map(({ key }) => key);
  expect(new Set(keys).size).toBe(3);
});

it("counts cores to the hundredth", () => expect(cores(1.5)).toBe("1.50"));
