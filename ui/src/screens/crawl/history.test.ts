import { describe, expect, it } from "vitest";
import type { Sample } from "../../api/live";
import { merged } from "./history";

const SECOND = 1000;
const sample = (at: number, ended: number): Sample => ({ at: at * SECOND, rate: 1, ended, queued: 5, failed: 0 });
const bucket = (at: number, pages: number) => ({ at: at * SECOND, pages });

describe("merged", () => {
  it("nothing known, nothing shown", () => expect(merged([], [], 1, null)).toEqual([]));

  it("what was heard stays as it was heard", () => {
    const heard = [sample(100, 1), sample(101, 2)];
    expect(merged(heard, [], 10, null)).toEqual(heard);
  });

  it("buckets stand before the first sample and end at its count", () => {
    const points = merged([sample(130, 40)], [bucket(100, 10), bucket(110, 30)], 10, null);
    expect(points.map(({ at, ended, rate, queued }) => [at / SECOND, ended, rate, queued])).toEqual([
      [110, 10, 1, null],
      [120, 40, 3, null],
      [130, 40, 1, 5],
    ]);
  });

  it("of a sample of the rows, the buckets are scaled up", () => {
    const points = merged([sample(130, 4000)], [bucket(100, 10), bucket(110, 30)], 10, null);
    expect(points.map(({ ended }) => ended)).toEqual([1000, 4000, 4000]);
  });

  it("a bucket that reaches into what was heard is left out", () => {
    expect(merged([sample(105, 4)], [bucket(100, 3)], 10, null)).toEqual([sample(105, 4)]);
  });

  it("a silence between samples is filled, an empty bucket is a rate of none", () => {
    const points = merged([sample(100, 10), sample(140, 30)], [bucket(100, 10), bucket(120, 10)], 10, null);
    expect(points.map(({ at, rate, ended }) => [at / SECOND, rate, ended])).toEqual([
      [100, 1, 10],
      [110, 1, 20],
      [120, 0, 20],
      [130, 1, 30],
      [140, 1, 30],
    ]);
  });

  it("of a crawl that was over long ago only its life is shown", () => {
    const points = merged([sample(9000, 20)], [bucket(100, 10), bucket(110, 10)], 10, { at: 115 * SECOND, ended: 20 });
    expect(points.map(({ at, ended }) => [at / SECOND, ended])).toEqual([
      [110, 10],
      [120, 20],
    ]);
  });
});
