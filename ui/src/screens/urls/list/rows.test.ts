import { expect, it } from "vitest";
import { steady, unique } from "./rows";

const rows = (text: string) => [...text].map((letter) => ({ id: letter.toLowerCase().charCodeAt(0), letter }));
const text = (found: readonly { letter: string }[]) => found.map(({ letter }) => letter).join("");

// upper case: a newer value of the same row
it.each([
  ["abc", "abc", "abc", 0],
  ["abc", "aBc", "aBc", 0], // values change in place
  ["abc", "abcd", "abcd", 0], // below the others: nothing moves
  ["abc", "xyaBc", "aBc", 2], // above: they wait
  ["abc", "xab", "abc", 1], // pushed off the page: it stays
  ["abc", "cBa", "aBc", 0], // another order: it waits
  ["abc", "xyz", "abc", 3],
  ["abc", "", "abc", 0],
  ["", "ab", "ab", 0],
])("%s, then %s: shows %s, %i wait", (shown, fresh, expected, waiting) => {
  const found = steady(rows(shown), rows(fresh));
  expect([text(found.rows), found.waiting]).toEqual([expected, waiting]);
});

it("a row comes once", () => {
  expect(text(unique(rows("abAcb")))).toBe("abc");
});
