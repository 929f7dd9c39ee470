import { describe, expect, it, test } from "vitest";
import type { CrawlSetting, Settings } from "../../../api/types";
import { aSetting } from "../../../testing/records";
import {
  baseOf,
  brief,
  changesInWords,
  differing,
  fieldsOf,
  grouped,
  labelOf,
  matching,
  ordered,
  type SettingField,
} from "./fields";

const line = (name: string, plain: unknown, type: CrawlSetting["type"], help = "", admin = false) =>
  aSetting(name, plain, { type, help, admin });

const SETTINGS: Settings = {
  process: [],
  crawl: [
    line("norm.fold_www", false, { type: "boolean" }),
    line("scope.mode", "same_host", { enum: ["same_host", "any", "list"], type: "string" }),
    line("scope.hosts", [], { type: "array", items: { type: "string" } }),
    line("limits.max_pages", null, { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] }),
    line("polite.floor_ms", 1000, { type: "integer", minimum: 0 }, "the shortest gap between two requests to a host"),
    line("fetch.allow_private", false, { type: "boolean" }, "", true),
    line("fetch.proxy", null, { anyOf: [{ type: "string" }, { type: "null" }] }, "", true),
  ],
  profiles: { default: {}, broad: { "scope.mode": "any", "polite.floor_ms": 250, "norm.fold_www": true } },
};

const names = (fields: readonly SettingField[]) => fields.map(({ setting }) => setting.name);
const fieldNamed = (fields: readonly SettingField[], name: string) =>
  fields.find(({ setting }) => setting.name === name) as SettingField;

describe("what the profile gives", () => {
  test.each([
    ["default", "polite.floor_ms", 1000],
    ["broad", "polite.floor_ms", 250],
    ["broad", "limits.max_pages", null],
    ["no such", "polite.floor_ms", 1000],
    ["constructor", "polite.floor_ms", 1000],
  ])("%s %s", (profile, name, value) => {
    const setting = SETTINGS.crawl.find((found) => found.name === name);
    expect(setting && baseOf(SETTINGS, profile, setting)).toBe(value);
  });
});

describe("what differs", () => {
  test.each([
    ["default", {}, {}],
    ["default", { "polite.floor_ms": "2s" }, { "polite.floor_ms": 2000 }],
    ["default", { "polite.floor_ms": "1000" }, {}],
    ["broad", { "polite.floor_ms": "1000" }, { "polite.floor_ms": 1000 }],
    ["broad", { "norm.fold_www": "false" }, { "norm.fold_www": false }],
    ["default", { "limits.max_pages": " " }, {}],
    ["default", { "scope.hosts": "a.example\n\n.b.example\n" }, { "scope.hosts": ["a.example", ".b.example"] }],
    ["default", { "scope.hosts": "\n" }, {}],
    ["default", { "polite.floor_ms": "soon" }, {}],
    ["default", { "no.such": "1" }, {}],
  ])("%s %o", (profile, texts, sent) => {
    expect(differing(fieldsOf(SETTINGS, profile, texts as Record<string, string>))).toEqual(sent);
  });

  it("what cannot be read is changed, and says so", () => {
    const field = fieldNamed(fieldsOf(SETTINGS, "default", { "polite.floor_ms": "soon" }), "polite.floor_ms");
    expect(field.changed).toBe(true);
    expect(field.problem).not.toBe("");
  });

  it("shows what the profile gives", () => {
    const fields = fieldsOf(SETTINGS, "broad", {});
    expect(fieldNamed(fields, "polite.floor_ms").text).toBe("250");
    expect(fieldNamed(fields, "limits.max_pages").text).toBe("");
  });
});

describe("order", () => {
  it("private addresses are common only for those who may set them", () => {
    const fields = fieldsOf(SETTINGS, "default", {});
    expect(names(ordered(fields, true).common)).toContain("fetch.allow_private");
    expect(names(ordered(fields, false).common)).not.toContain("fetch.allow_private");
    expect(names(ordered(fields, false).advanced)).toContain("fetch.allow_private");
  });

  it("hosts are asked for with a scope of listed hosts", () => {
    expect(names(ordered(fieldsOf(SETTINGS, "default", {}), false).common)).not.toContain("scope.hosts");
    const listed = ordered(fieldsOf(SETTINGS, "default", { "scope.mode": "list" }), false);
    expect(names(listed.common)).toEqual(["scope.mode", "scope.hosts", "limits.max_pages", "polite.floor_ms"]);
  });

  it("groups keep the order of the API", () => {
    const groups = grouped(fieldsOf(SETTINGS, "default", {})).map(([group, fields]) => [group, fields.length]);
    expect(groups).toEqual([
      ["norm", 1],
      ["scope", 2],
      ["limits", 1],
      ["polite", 1],
      ["fetch", 2],
    ]);
  });

  test.each([
    ["", 7],
    ["SCOPE", 2],
    ["gap host", 1],
    ["max pages", 1],
    ["politeness", 1],
    ["nothing such", 0],
  ])("find %j", (find, found) => expect(matching(fieldsOf(SETTINGS, "default", {}), find)).toHaveLength(found));

  it("common ones have words, the others their names", () => {
    expect(labelOf("polite.floor_ms")).toBe("Delay between requests to a host");
    expect(labelOf("polite.jitter_ms")).toBe("polite.jitter_ms");
  });
});

test.each([
  ["polite.floor_ms", 2000, "2 s"],
  ["limits.max_urls", 50_000_000, "50,000,000"],
  ["retry.factor", 1.5, "1.5"],
  ["limits.max_pages", null, "none"],
  ["polite.adaptive", false, "no"],
  ["scope.mode", "any", "any"],
  ["fetch.user_agent", "", "empty"],
  ["scope.hosts", [], "none"],
  ["scope.hosts", ["a.example", "b.example"], "a.example, b.example"],
  ["scope.skip_extensions", Array.from({ length: 70 }, () => ".zip"), "70 entries"],
  ["polite.floor_ms", undefined, "not readable"],
])("%s %o in words", (name, value, text) => expect(brief(name, value)).toBe(text));

test("a profile in words", () => {
  expect(changesInWords({ "scope.mode": "same_domain", "scope.max_depth": 3, "polite.floor_ms": 250 })).toBe(
    "Scope: mode same domain, max depth 3; Politeness: floor 250 ms",
  );
  expect(changesInWords({})).toBe("");
});
