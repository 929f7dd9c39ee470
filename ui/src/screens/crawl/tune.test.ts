import { describe, expect, it } from "vitest";
import { changesOf, closed, FIELDS, fieldOf, parsed, type TuneField, textOf, textsOf, valuesOf } from "./tune";

const field = (name: string): TuneField => {
  const found = FIELDS.find((each) => each.name === name);
  if (!found) throw new Error(name);
  return found;
};

const settings = {
  polite: { floor_ms: 1000, jitter_ms: 250, adaptive: true, max_inflight: 1 },
  limits: {
    max_pages: null,
    max_urls: 5000,
    max_frontier: 900,
    max_urls_per_host: 1_000_000,
    max_seconds: 5400,
    max_bytes: null,
  },
};

describe("parsed", () => {
  it.each([
    ["floor_ms", "2 s", 2000],
    ["floor_ms", "750", 750],
    ["floor_ms", "0", 0],
    ["max_seconds", "90", 90],
    ["max_seconds", "1.5 h", 5400],
    ["max_bytes", "500 MB", 500_000_000],
    ["max_bytes", "1.5gb", 1_500_000_000],
    ["max_pages", "10,000", 10_000],
    ["max_pages", "  ", null],
    ["adaptive", "no", false],
  ])("%s %j", (name, text, value) => expect(parsed(field(name), text)).toEqual({ value }));

  it.each([
    ["floor_ms", ""],
    ["floor_ms", "fast"],
    ["max_pages", "1.5"],
    ["max_pages", "-1"],
    ["max_bytes", "much"],
    ["max_urls_per_host", ""],
  ])("%s %j is wrong", (name, text) => expect(parsed(field(name), text)).toHaveProperty("wrong"));
});

it("what is shown reads back as the same value", () => {
  for (const [name, value] of Object.entries({ floor_ms: 1001, jitter_ms: 0, max_seconds: 61, max_bytes: 1_500_000 })) {
    expect(parsed(field(name), textOf(field(name), value))).toEqual({ value });
  }
});

describe("changesOf", () => {
  const before = valuesOf(settings);

  it("nothing typed, nothing changed", () => {
    expect(changesOf(before, textsOf(before))).toEqual({ pace: {}, limits: {}, wrong: {} });
  });

  it("only what differs, in its group; an empty limit is removed", () => {
    const texts = { ...textsOf(before), floor_ms: "2 s", max_seconds: "", adaptive: "no" };
    expect(changesOf(before, texts)).toEqual({
      pace: { floor_ms: 2000, adaptive: false },
      limits: { max_seconds: null },
      wrong: {},
    });
  });

  it("the same time in other words is no change", () => {
    expect(changesOf(before, { ...textsOf(before), max_seconds: "90 min" }).limits).toEqual({});
  });

  it.each(["max_urls", "max_frontier"])("a crawl that was started without %s cannot get one", (name) => {
    const without = { ...before, [name]: null };
    expect(changesOf(without, { ...textsOf(without), [name]: "10" })).toEqual({ pace: {}, limits: {}, wrong: {} });
    expect(closed(field(name), without)).toBe(true);
    expect(closed(field(name), before)).toBe(false);
    expect(changesOf(before, { ...textsOf(before), [name]: "" }).wrong).toHaveProperty(name);
  });

  it("what cannot be read is named", () => {
    expect(Object.keys(changesOf(before, { ...textsOf(before), max_pages: "many" }).wrong)).toEqual(["max_pages"]);
  });
});

it.each([
  ["max_pages", "max_pages"],
  ["limits.max_pages", "max_pages"],
  ["seeds", null],
  [null, null],
])("fieldOf %s", (name, found) => expect(fieldOf(name)?.name ?? null).toBe(found));
