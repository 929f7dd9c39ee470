import { describe, expect, it } from "vitest";
import { aSetting } from "../../testing/records";
import { ownSettings, valueText } from "./differing";

describe("ownSettings", () => {
  const all = [aSetting("polite.floor_ms", 1000), aSetting("scope.include", []), aSetting("fetch.newer", 1)];

  it("what the profile gives is not the crawl's own", () => {
    const settings = { profile: "broad", polite: { floor_ms: 250 }, scope: { include: [] }, fetch: {} };
    expect(ownSettings(settings, all, { "polite.floor_ms": 250 })).toEqual([]);
  });

  it("what differs is told with what the profile would give", () => {
    const settings = { polite: { floor_ms: 1000 }, scope: { include: ["*/docs/*"] }, fetch: {} };
    expect(ownSettings(settings, all, { "polite.floor_ms": 250 })).toEqual([
      { name: "polite.floor_ms", value: 1000, usual: 250, help: "what polite.floor_ms does" },
      { name: "scope.include", value: ["*/docs/*"], usual: [], help: "what scope.include does" },
    ]);
  });
});

it.each([
  ["polite.floor_ms", 2000, "2 s"],
  ["limits.max_urls", 50_000_000, "50,000,000"],
  ["retry.factor", 1.5, "1.5"],
  ["limits.max_pages", null, "none"],
  ["scope.include", [], "none"],
  ["scope.include", ["a", "b"], "a, b"],
  ["fetch.headers", [["X-A", "1"]], "X-A: 1"],
  ["polite.adaptive", false, "no"],
  ["fetch.user_agent", "", "none"],
])("valueText %s %j", (name, value, text) => expect(valueText(name, value)).toBe(text));
