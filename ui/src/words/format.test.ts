import { describe, expect, it } from "vitest";
import { ago, bytes, count, duration, exactly, many, manyOrMore, milliseconds, percent, rate, words } from "./format";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("numbers", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1234567, "1,234,567"],
    [0.4, "0"],
    [-1200, "-1,200"],
  ])("count(%s) is %s", (value, text) => expect(count(value)).toBe(text));

  it.each([
    [null, "–"],
    [undefined, "–"],
    [0, "0/s"],
    [0.04, "0/s"],
    [1.25, "1.3/s"],
    [9.96, "10/s"],
    [12.4, "12/s"],
    [1234, "1,234/s"],
  ])("rate(%s) is %s", (value, text) => expect(rate(value)).toBe(text));

  it.each([
    [1, 3, "33 %"],
    [0, 5, "0 %"],
    [5, 5, "100 %"],
    [1, 0, "–"],
  ])("percent(%s, %s) is %s", (part, all, text) => expect(percent(part, all)).toBe(text));

  it("many has one and more", () => {
    expect(many(1, "page")).toBe("1 page");
    expect(many(0, "page")).toBe("0 pages");
    expect(many(1200, "entry", "entries")).toBe("1,200 entries");
    expect(manyOrMore(1, true, "page")).toBe("1 page");
    expect(manyOrMore(10_000, false, "page")).toBe("more than 10,000 pages");
  });

  it("words has no underscores", () => expect(words("in_progress_now")).toBe("in progress now"));
});

describe("bytes", () => {
  it.each([
    [null, "–"],
    [undefined, "–"],
    [0, "0 B"],
    [1, "1 B"],
    [999, "999 B"],
    [1000, "1 KB"],
    [1550, "1.6 KB"],
    [99_400, "99.4 KB"],
    [123_456, "123 KB"],
    [999_499, "999 KB"],
    [999_999, "1 MB"],
    [1_500_000, "1.5 MB"],
    [2.5e9, "2.5 GB"],
    [7e12, "7 TB"],
    [3e15, "3 PB"],
    [5e18, "5,000 PB"],
  ])("bytes(%s) is %s", (value, text) => expect(bytes(value)).toBe(text));
});

describe("duration", () => {
  it.each([
    [null, "–"],
    [undefined, "–"],
    [0, "0 ms"],
    [350, "350 ms"],
    [999.4, "999 ms"],
    [999.7, "1 s"],
    [1000, "1 s"],
    [1500, "1.5 s"],
    [9_990, "10 s"],
    [12_300, "12 s"],
    [59.9 * SECOND, "60 s"],
    [MINUTE, "60 s"],
    [119.4 * SECOND, "119 s"],
    [119.9 * SECOND, "2 min"],
    [2 * MINUTE, "2 min"],
    [59.4 * MINUTE, "59 min"],
    [59.9 * MINUTE, "1 h"],
    [HOUR, "1 h"],
    [80 * MINUTE, "1 h 20 min"],
    [HOUR + 59.9 * MINUTE, "2 h"],
    [23 * HOUR + 59 * MINUTE, "23 h 59 min"],
    [DAY - SECOND, "1 d"],
    [DAY, "1 d"],
    [36 * HOUR, "1 d 12 h"],
    [2 * DAY - MINUTE, "2 d"],
    [400 * DAY, "400 d"],
  ])("duration(%s) is %s", (ms, text) => expect(duration(ms)).toBe(text));

  it("is never a number that the next unit has a word for", () => {
    for (let ms = 1; ms < 3 * DAY; ms = ms * 1.003 + 0.7) {
      expect(duration(ms)).not.toMatch(/^(1,000 ms|120 s|60 min|24 h|\d+ (h|d) (60 min|24 h))$/);
    }
  });
});

describe("ago", () => {
  it.each([
    [0, "now"],
    [999, "now"],
    [12 * SECOND, "12 s ago"],
    [-3 * MINUTE, "in 3 min"],
    [-500, "now"],
  ])("%s ms before now is %s", (gap, text) => expect(ago(1e12, 1e12 + gap)).toBe(text));

  it("has the exact time beside it", () => expect(exactly(Date.UTC(2026, 0, 2, 12, 30, 5))).toMatch(/2026.*30.*05/));
});

describe("milliseconds", () => {
  it.each([
    ["500", 500],
    ["0", 0],
    [" 250 ms ", 250],
    ["2s", 2000],
    ["1.5 min", 90_000],
    ["3m", 180_000],
    ["2 h", 2 * HOUR],
    ["1d", DAY],
    ["0.0004s", 0],
    ["", null],
    ["s", null],
    ["-1", null],
    ["1,5 s", null],
    ["2 weeks", null],
    ["1e3", null],
    ["2 s 3", null],
    ["٣ s", null],
  ])("milliseconds(%j) is %s", (text, ms) => expect(milliseconds(text)).toBe(ms));
});
