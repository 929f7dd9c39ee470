import { describe, expect, it, test } from "vitest";
import type { CrawlState } from "../../api/types";
import {
  ALL_CRAWLS,
  addressOf,
  type CrawlsView,
  endOf,
  errorsOf,
  held,
  jsonOf,
  LIVE_ROWS_MAX,
  liveIds,
  moreSeeds,
  newer,
  progressOf,
  reasonOf,
  titleOf,
  viewOf,
} from "./list";

describe("the address", () => {
  test.each<[string, Partial<CrawlsView>, string]>([
    ["", {}, "/crawls"],
    ["status=running", { status: "running" }, "/crawls?status=running"],
    ["after=51&status=failed", { status: "failed", after: 51 }, "/crawls?status=failed&after=51"],
    ["after=99999999999999999999", {}, "/crawls"],
    [
      "label=team%3Ddocs&label=nightly",
      { labels: ["team=docs", "nightly"] },
      "/crawls?label=team%3Ddocs&label=nightly",
    ],
    ["text=a+b", { text: "a b" }, "/crawls?text=a+b"],
    ["sort=bytes", { sort: "bytes", order: "desc" }, "/crawls?sort=bytes&order=desc"],
    ["order=asc", { order: "asc" }, "/crawls?order=asc"],
  ])("%s", (text, part, address) => {
    const { wrong, ...view } = viewOf(new URLSearchParams(text));
    expect(view).toEqual({ ...ALL_CRAWLS, ...part });
    expect(wrong).toEqual([]);
    expect(addressOf(view)).toBe(address);
  });

  test.each([
    ["status=<script>", ["status: “<script>” is none of running, paused, ending, completed, cancelled, failed"]],
    ["sort=size", ["sort: “size” is none of id, name, status, ended, active_ms, bytes, errors"]],
    ["sort=id&order=up", ["order: “up” is none of asc, desc"]],
    ["status=bogus&sort=x&order=y", [/^status/, /^sort/, /^order/]],
  ])("%s is wrong, and said", (text, lines) => {
    const { wrong } = viewOf(new URLSearchParams(text));
    expect(wrong).toEqual(lines.map((line) => (typeof line === "string" ? line : expect.stringMatching(line))));
  });

  it("has the API call behind it", () => {
    expect(jsonOf({ ...ALL_CRAWLS, status: "paused", after: 9 })).toBe("/api/v1/crawls?limit=50&status=paused&after=9");
    expect(jsonOf(ALL_CRAWLS)).toBe("/api/v1/crawls?limit=50");
    expect(jsonOf({ ...ALL_CRAWLS, labels: ["a"], sort: "name", order: "asc" })).toBe(
      "/api/v1/crawls?limit=50&sort=name&order=asc&label=a",
    );
  });
});

it("calls a crawl by its name, else by its seed", () => {
  expect(titleOf({ id: 7, name: "Docs", root_url: "https://a.example/" })).toBe("Docs");
  expect(titleOf({ id: 7, name: "", root_url: "https://a.example/" })).toBe("https://a.example/");
  expect(titleOf({ id: 7, name: "", root_url: "" })).toBe("Crawl 7");
});

test.each([
  [{ total: 3900, pending: 2600, in_progress: 96 }, false, "running", "1,204 of 3,900"],
  [{ total: 3900, pending: 0, in_progress: 0 }, false, "completed", "3,900"],
  [{ total: 10, pending: 9, in_progress: 0 }, true, "running", "1 of 10, adding seeds"],
  [{ total: 10, pending: 0, in_progress: 0 }, true, "cancelled", "10"],
  [{ total: 0, pending: 0, in_progress: 0 }, false, "running", "0"],
] as const)("progress of %o", (counts, seeding, status, text) => {
  expect(progressOf({ ...counts, seeding, status })).toBe(text);
});

test.each([
  [1, ""],
  [2, "and 1 more seed"],
  [1201, "and 1,200 more seeds"],
])("%d seeds", (seeds, text) => expect(moreSeeds(seeds)).toBe(text));

test.each([
  ["running", "x", "", ""],
  ["paused", "by admin", "", "by admin"],
  ["failed", "disk full", "", "disk full"],
  ["completed", "", "limit_pages", "by its limit: limit pages"],
  ["completed", "done", "", ""],
] as const)("why %s (%s, %s)", (status, reason, limited_by, text) => {
  expect(reasonOf({ status, reason, limited_by })).toBe(text);
});

test("errors by kind", () => {
  expect(errorsOf({ errors: { not_found: 1200, timeout: 3 } })).toEqual({
    all: 1203,
    kinds: "not found 1,200, timeout 3",
  });
  expect(errorsOf({ errors: {} })).toEqual({ all: 0, kinds: "no errors" });
});

test("only the first running crawls are asked for their rate", () => {
  const crawls = Array.from({ length: 30 }, (_, id) => ({
    id,
    status: (id % 2 ? "running" : "completed") as CrawlState,
  }));
  const found = liveIds(crawls);
  expect(found.size).toBe(LIVE_ROWS_MAX);
  expect([...found].slice(0, 3)).toEqual([1, 3, 5]);
});

const NO_PACE = { waiting: "", resting: null, eta_seconds: null, bounded_by: null };

test.each([
  [NO_PACE, "–", ""],
  [{ ...NO_PACE, eta_seconds: 240 }, "about 4 min", ""],
  [
    { ...NO_PACE, eta_seconds: 240, bounded_by: { host: "a.example", delay_ms: 1000, queued: 2310 } },
    "about 4 min",
    "bounded by a.example (1 s delay, 2,310 queued)",
  ],
  [{ ...NO_PACE, eta_seconds: 1, waiting: "the disk is full" }, "waiting", "the disk is full"],
  [
    { ...NO_PACE, resting: { host: "a.example", in_ms: 5000, reason: "429" } },
    "hosts rest",
    "a.example is next in 5 s (429)",
  ],
])("the end of %o", (pace, text, why) => expect(endOf(pace)).toEqual({ text, why }));

describe("held rows", () => {
  const before = [
    { id: 3, n: 1 },
    { id: 2, n: 1 },
  ];
  const fresh = [
    { id: 4, n: 2 },
    { id: 3, n: 2 },
    { id: 1, n: 2 },
  ];

  it("stay, with their newest facts", () => {
    expect(held(before, fresh)).toEqual([
      { row: { id: 3, n: 2 }, left: false },
      { row: { id: 2, n: 1 }, left: true },
    ]);
  });

  it("let only newer ones wait", () => {
    expect(newer(before, fresh)).toBe(1);
    expect(newer([], fresh)).toBe(3);
  });
});
