import { describe, expect, it } from "vitest";
import { calm, remaining, seen } from "./cooldown";

describe("remaining", () => {
  it.each([
    [5000, 100, 100, 5000],
    [5000, 100, 2100, 3000],
    [5000, 100, 9100, 0],
    [5000, 1000, 400, 5000], // the page's clock ticks once a second: it may lag behind the read
  ])("%d ms, read at %d, now %d", (inMs, readAt, now, left) => expect(remaining(inMs, readAt, now)).toBe(left));
});

describe("calm", () => {
  it.each([
    [0, 0],
    [350.2, 351],
    [1000, 1000],
    [1001, 2000],
    [61_400, 62_000],
  ])("%d", (ms, shown) => expect(calm(ms)).toBe(shown));
});

describe("seen", () => {
  it("begins with the delay, or with the rest where that is longer", () => {
    expect(seen(null, 400, 1000)).toEqual({ next: 400, whole: 1000 });
    expect(seen(null, 60_000, 1000)).toEqual({ next: 60_000, whole: 60_000 });
  });

  it("keeps its length while it runs down and takes a new one when it grows", () => {
    const first = seen(null, 60_000, 1000);
    const later = seen(first, 58_000, 1000);
    expect(later).toEqual({ next: 58_000, whole: 60_000 });
    expect(seen(later, 120_000, 1000)).toEqual({ next: 120_000, whole: 120_000 });
  });

  it("after a long rest the ordinary delay is the length again", () => {
    expect(seen({ next: 0, whole: 60_000 }, 900, 1000)).toEqual({ next: 900, whole: 1000 });
  });
});
