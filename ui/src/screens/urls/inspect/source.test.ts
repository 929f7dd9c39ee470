import { describe, expect, it } from "vitest";
import { earlier, findIn, later, marked, piecesOf, rangeWith, START, stepped } from "./source";

describe("pieces", () => {
  it("are lines, whatever ends them", () => {
    expect(piecesOf("a\nb\r\nc\rd").map(({ line, text }) => `${line}${text}`)).toEqual(["1a", "2b", "3c", "4d"]);
  });

  it("cut an endless line", () => {
    const pieces = piecesOf(`${"x".repeat(4500)}\ny`);
    expect(pieces.map(({ line, text }) => [line, text.length])).toEqual([
      [1, 2000],
      [null, 2000],
      [null, 500],
      [2, 1],
    ]);
  });

  it("are found in 2 MB, up to a bound", () => {
    const pieces = piecesOf("<p>some text of a page</p>\n".repeat(80_000));
    expect(pieces).toHaveLength(80_001);
    expect(findIn(pieces, "page")).toHaveLength(10_000);
  });
});

describe("finding", () => {
  const pieces = piecesOf("One\ntwo\nONE one");
  it.each([
    ["one", [0, 2]],
    ["TWO", [1]],
    ["three", []],
    ["", []],
  ])("%s", (wanted, found) => expect(findIn(pieces, wanted)).toEqual(found));

  it.each([
    ["ONE one", "one", ["[ONE]", " ", "[one]"]],
    ["a.b", ".", ["a", "[.]", "b"]],
    ["none", "x", ["none"]],
    ["text", "", ["text"]],
    ["İi", "i", ["İi"]], // another length in lower case
  ])("marks in %s the %s", (text, wanted, parts) =>
    expect(marked(text, wanted).map(({ text, found }) => (found ? `[${text}]` : text))).toEqual(parts),
  );

  it("goes around the ends", () => {
    expect([stepped(2, 1, 3), stepped(0, -1, 3), stepped(0, 1, 0)]).toEqual([0, 2, 0]);
  });
});

describe("the range that is shown", () => {
  it("stays where the find is in it, else moves there", () => {
    expect(rangeWith(START, 499)).toBe(START);
    expect(rangeWith(START, 30_000)).toEqual({ from: 29_980, to: 30_480 });
    expect(rangeWith({ from: 1000, to: 1500 }, 3)).toEqual({ from: 0, to: 500 });
  });

  it("grows at both ends", () => {
    expect(later(START)).toEqual({ from: 0, to: 1000 });
    expect(earlier({ from: 100, to: 600 })).toEqual({ from: 0, to: 600 });
  });
});
