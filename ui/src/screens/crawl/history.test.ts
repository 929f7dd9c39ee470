import { describe, expect, it } from "vitest";
import type { Sample } from "../../api/live";
import { type Kept, merged } from "./history";

const SECOND = 1000;
const heard = (at: number, ended: number): Sample => ({ at: at * SECOND, rate: 1, ended, queued: 5, failed: 0 });
const kept = (at: number, answered: number): Kept => ({
  at: at * SECOND,
  answered,
  ended: answered,
  queued: 9,
  failed: 2,
});
const shown = (...given: Parameters<typeof merged>) => merged(...given).map(({ at, rate }) => [at / SECOND, rate]);

describe("merged", () => {
  it("nothing known, nothing shown", () => expect(merged([], [], null)).toEqual([]));

  it("what was heard stays as it was heard, and nothing is put between", () => {
    const samples = [heard(100, 1), heard(101, 2), heard(102, 3)];
    expect(merged(samples, [kept(100, 1), kept(101, 2)], null)).toEqual(samples);
  });

  it("what was kept stands before the first sample that was heard, with its queue and its errors", () => {
    const points = merged([heard(130, 40)], [kept(100, 0), kept(110, 10), kept(120, 40)], null);
    expect(points.map(({ at, rate, queued, failed }) => [at / SECOND, rate, queued, failed])).toEqual([
      [100, null, 9, 2],
      [110, 1, 9, 2],
      [120, 3, 9, 2],
      [130, 1, 5, 0],
    ]);
  });

  it("a silence between samples is filled, and what came after the last one is added", () => {
    const all = [kept(100, 0), kept(110, 10), kept(120, 10), kept(150, 40)];
    expect(shown([heard(100, 1), heard(140, 30)], all, null)).toEqual([
      [100, 1],
      [110, 1],
      [120, 0],
      [140, 1],
      [150, 1],
    ]);
  });

  it("of a crawl that was over long ago only its life is shown", () => {
    expect(shown([heard(9000, 20)], [kept(100, 0), kept(110, 20)], 110 * SECOND)).toEqual([
      [100, null],
      [110, 2],
    ]);
  });
});
