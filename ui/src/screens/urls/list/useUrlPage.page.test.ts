import { expect, it } from "vitest";
import { aRow } from "../../../testing/records";
import { placeAfter, refreshMs, rowsOf } from "./useUrlPage";

const part = (from: number, count: number, next: number | null) => ({
  urls: Array.from({ length: count }, (_, at) => aRow(from + at)),
  next,
});

it("goes on where a search found too few, for as many as there is room", () => {
  const first = part(1, 150, 9000);
  expect(placeAfter(first, [first])).toEqual({ at: 9000, limit: 50 });
  const second = part(9001, 50, 12_000);
  expect(placeAfter(second, [first, second])).toBeUndefined(); // the page is full
  expect(rowsOf([first, second]).length).toBe(200);
});

it("ends at the end", () => {
  const last = part(1, 3, null);
  expect(placeAfter(last, [last])).toBeUndefined();
});

it.each([
  [true, 1, 2000],
  [true, 3, 10_000],
  [true, 7, false],
  [false, 1, false],
])("running %s with %i parts is read every %s", (running, parts, ms) => expect(refreshMs(running, parts)).toBe(ms));
