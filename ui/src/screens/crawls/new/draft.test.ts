import { describe, expect, it, test } from "vitest";
import type { Settings } from "../../../api/types";
import { aSetting } from "../../../testing/records";
import { type Draft, draftOf, searchOf, seedsFit, unknownNames } from "./draft";

const SETTINGS: Settings = {
  process: [],
  crawl: [
    aSetting("polite.floor_ms", 1000, { type: { type: "integer" } }),
    aSetting("polite.adaptive", true, { type: { type: "boolean" } }),
    aSetting("scope.include", [], { type: { type: "array", items: { type: "string" } } }),
    aSetting("fetch.proxy", null, { type: { anyOf: [{ type: "string" }, { type: "null" }] }, admin: true }),
  ],
  profiles: { default: {}, broad: { "polite.floor_ms": 250 } },
};

const EMPTY: Draft = { seeds: "", name: "", labels: "", profile: "default", texts: {}, advanced: false, find: "" };

describe("there and back", () => {
  test.each<[string, Draft]>([
    ["", EMPTY],
    ["seed=a.example&seed=b.example", { ...EMPTY, seeds: "a.example\nb.example" }],
    ["seed=https%3A%2F%2Fa.example%2F%3Fq%3D1%262", { ...EMPTY, seeds: "https://a.example/?q=1&2" }],
    ["name=Docs%2C+weekly&label=team%3Ddocs&label=x", { ...EMPTY, name: "Docs, weekly", labels: "team=docs x" }],
    ["profile=broad", { ...EMPTY, profile: "broad" }],
    ["set.polite.floor_ms=2s", { ...EMPTY, texts: { "polite.floor_ms": "2s" } }],
    ["set.polite.floor_ms=soon", { ...EMPTY, texts: { "polite.floor_ms": "soon" } }],
    ["set.polite.adaptive=false", { ...EMPTY, texts: { "polite.adaptive": "false" } }],
    ["set.scope.include=*a*%0A*b*", { ...EMPTY, texts: { "scope.include": "*a*\n*b*" } }],
    ["set.no.such=1", { ...EMPTY, texts: { "no.such": "1" } }],
    ["advanced=1&find=gap", { ...EMPTY, advanced: true, find: "gap" }],
  ])("%s", (text, draft) => {
    expect(draftOf(new URLSearchParams(text))).toEqual(draft);
    expect(new URLSearchParams(searchOf(draft, SETTINGS))).toEqual(new URLSearchParams(text));
  });
});

test.each<[string, Draft]>([
  ["the profile's own value", { ...EMPTY, profile: "broad", texts: { "polite.floor_ms": "250" } }],
  ["a default", { ...EMPTY, profile: "broad", texts: { "polite.adaptive": "true" } }],
  ["what may be secret", { ...EMPTY, profile: "broad", texts: { "fetch.proxy": "http://me:word@proxy.example" } }],
  ["what is too long", { ...EMPTY, profile: "broad", texts: { "scope.include": "x".repeat(5000) } }],
])("%s is left out", (_, draft) => expect(searchOf(draft, SETTINGS).toString()).toBe("profile=broad"));

it("takes no secret from an address", () => {
  expect(draftOf(new URLSearchParams("set.fetch.proxy=http://evil.example")).texts).toEqual({});
});

it("leaves seeds out that are too many for an address", () => {
  const many = Array.from({ length: 1000 }, (_, at) => `site-${at}.example`);
  expect(seedsFit(many)).toBe(false);
  expect(seedsFit(many.slice(0, 10))).toBe(true);
  expect(searchOf({ ...EMPTY, seeds: many.join("\n") }, SETTINGS).toString()).toBe("");
});

it("knows what it does not know", () => {
  expect(unknownNames({ ...EMPTY, texts: { "no.such": "1", "polite.floor_ms": "2" } }, SETTINGS)).toEqual(["no.such"]);
});
