import { describe, expect, it } from "vitest";
import { NO_REQUISITES } from "../testing/records";
import { type Facts, sentence } from "./sentence";

const RUNNING: Facts = {
  state: "running",
  reason: "",
  cause: "",
  limited_by: "",
  total: 3900,
  queued: 2690,
  in_progress: 6,
  rate: 12,
  eta_seconds: 240,
  bounded_by: { host: "docs.example.org", queued: 2310, delay_ms: 1000 },
  resting: null,
  waiting: "",
  active_ms: 90_000,
  requisites: NO_REQUISITES,
};

describe("the sentence of a crawl that runs", () => {
  it("says how far, how fast, until when and why", () => {
    expect(sentence(RUNNING)).toBe(
      "1,204 of about 3,900 URLs, 12/s, done in about 4 min; bounded by docs.example.org (1 s delay, 2,310 queued).",
    );
  });

  it("says how far what pages need is", () => {
    const requisites = { ...NO_REQUISITES, urls: 310, queued: 8, in_progress: 2 };
    expect(sentence({ ...RUNNING, requisites, rate: null, eta_seconds: null, bounded_by: null })).toBe(
      "1,204 of about 3,900 URLs, 300 of about 310 requisites.",
    );
  });

  it("leaves out what is not known", () => {
    expect(sentence({ ...RUNNING, rate: null, eta_seconds: null, bounded_by: null })).toBe(
      "1,204 of about 3,900 URLs.",
    );
  });

  it("knows a rate of nothing from no rate", () => {
    expect(sentence({ ...RUNNING, rate: 0, eta_seconds: null, bounded_by: null })).toBe(
      "1,204 of about 3,900 URLs, 0/s.",
    );
  });

  it("says why nothing can be stored, before all else", () => {
    expect(sentence({ ...RUNNING, waiting: "the disk is full" })).toBe(
      "1,204 of about 3,900 URLs; waiting: the disk is full.",
    );
  });

  it("says which host wakes first when all rest", () => {
    const resting = { host: "a.example", in_ms: 30_000, reason: "Retry-After" };
    expect(sentence({ ...RUNNING, resting })).toBe(
      "1,204 of about 3,900 URLs; every host rests, a.example is next in 30 s (Retry-After).",
    );
    expect(sentence({ ...RUNNING, resting: { ...resting, reason: "" } })).toMatch(/next in 30 s\.$/);
  });
});

describe("the sentence in every other state", () => {
  const over = { ...RUNNING, queued: 0, in_progress: 0 };

  it.each<[string, Facts, string]>([
    ["completed", { ...over, state: "completed" }, "3,900 URLs in 90 s."],
    [
      "completed, with what pages need",
      { ...over, state: "completed", requisites: { ...NO_REQUISITES, urls: 310 } },
      "3,900 URLs, 310 requisites in 90 s.",
    ],
    ["completed, one", { ...over, state: "completed", total: 1 }, "1 URL in 90 s."],
    [
      "ended by a limit",
      { ...over, state: "completed", limited_by: "max_pages" },
      "3,900 URLs in 90 s; ended by its limit on max pages.",
    ],
    ["cancelled", { ...over, state: "cancelled" }, "Cancelled after 90 s, with 3,900 URLs ended."],
    ["failed", { ...over, state: "failed" }, "Failed: no seed could be had."],
    ["failed for a reason", { ...over, state: "failed", reason: "host_dead" }, "Failed: host dead."],
    ["failed by something", { ...over, state: "failed", reason: "unreachable", cause: "refused" }, "Failed: refused."],
    ["paused", { ...RUNNING, state: "paused" }, "Paused at 1,204 of about 3,900 URLs."],
    ["paused by", { ...RUNNING, state: "paused", reason: "by ann" }, "Paused (by ann) at 1,204 of about 3,900 URLs."],
    ["ending", { ...RUNNING, state: "ending" }, "Ending: 1,204 of about 3,900 URLs done."],
  ])("%s", (_, facts, text) => expect(sentence(facts)).toBe(text));
});
