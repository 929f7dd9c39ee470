import { expect, it } from "vitest";
import { aDetail, aSetting } from "../../../testing/records";
import { copyOf, handedOver, leavesOut } from "./copy";
import { differing, fieldsOf } from "./fields";

const settings = {
  process: [],
  crawl: [
    aSetting("limits.max_pages", null, { type: { anyOf: [{ type: "integer" }, { type: "null" }] } }),
    aSetting("scope.exclude", [], { type: { type: "array", items: { type: "string" } } }),
    aSetting("polite.floor_ms", 1000, { type: { type: "integer" } }),
    aSetting("fetch.proxy", null, { type: { anyOf: [{ type: "string" }, { type: "null" }] } }),
  ],
  profiles: { default: {}, broad: { "polite.floor_ms": 250 } },
};

const detail = aDetail({
  profile: "broad",
  seeds: ["https://a.example/", "https://b.example/"],
  seeds_count: 2,
  name: "Docs, weekly",
  labels: ["nightly", "team=docs"],
  settings: {
    limits: { max_pages: 50 },
    scope: { exclude: ["*/private/*", "*.pdf"] },
    polite: { floor_ms: 250 },
    fetch: { proxy: "http://ann:secret@proxy.example", headers: [] },
  },
});

it("has seeds, profile and what differs from that, without what may hold a password", () => {
  expect(copyOf(detail, settings)).toEqual({
    seeds: "https://a.example/\nhttps://b.example/",
    name: "Docs, weekly",
    labels: "nightly team=docs",
    profile: "broad",
    texts: { "limits.max_pages": "50", "scope.exclude": "*/private/*\n*.pdf" },
    advanced: false,
    find: "",
  });
  expect(leavesOut(detail)).toEqual(["its proxy"]);
});

it("has the adaptive part of the delay as the crawl has it, which the form would leave out beside a delay of its own", () => {
  const adaptive = aSetting("polite.adaptive", true, { type: { type: "boolean" } });
  const slower = aDetail({ settings: { polite: { floor_ms: 2000, adaptive: true } }, profile: "default" });
  const { texts, profile } = copyOf(slower, { ...settings, crawl: [...settings.crawl, adaptive] });
  expect(texts).toEqual({ "polite.floor_ms": "2000", "polite.adaptive": "true" });
  expect(differing(fieldsOf({ ...settings, crawl: [...settings.crawl, adaptive] }, profile, texts))).toEqual({
    "polite.floor_ms": 2000,
  });
});

it("is handed over by a link, and nothing else is taken for one", () => {
  const draft = copyOf(detail, settings);
  expect(handedOver({ draft })).toBe(draft);
  for (const other of [null, undefined, {}, { draft: null }, { draft: {} }, "x"]) expect(handedOver(other)).toBeNull();
});
