import { expect, it } from "vitest";
import { heldRows, newRows, newText } from "./latest";

const shown = [
  { id: 3, state: "queued" },
  { id: 2, state: "visited" },
];
const fresh = [
  { id: 4, state: "visited" },
  { id: 3, state: "visited" },
];

it("held rows keep their places and change in place", () => {
  expect(heldRows(shown, fresh)).toEqual([
    { id: 3, state: "visited" },
    { id: 2, state: "visited" },
  ]);
});

it("counts what waits", () => {
  expect(newRows(shown, fresh)).toBe(1);
  expect(newRows(shown, shown)).toBe(0);
});

it("does not claim to have counted what it has not read", () => {
  expect(newText(12, 15)).toBe("12 new");
  expect(newText(15, 15)).toBe("15 or more new");
});
