import { describe, expect, it } from "vitest";
import type { HostClock } from "../../api/types";
import { aClock } from "../../testing/records";
import { accessWords, delayParts, winner } from "./delays";

const clock = (delay: number, pace: Partial<HostClock["pace"]> = {}) => aClock({ delay_ms: delay }, pace);

describe("winner", () => {
  it.each([
    ["the longest part", clock(5000, { crawl_delay_ms: 5000, override_ms: 2000 }), 1000, "crawl-delay"],
    ["the override", clock(7000, { crawl_delay_ms: 5000, override_ms: 7000 }), null, "override"],
    ["the floor of all", clock(1000), 1000, "floor of all crawls"],
    ["a crawl's own floor, which is not known here", clock(1000), null, ""],
    ["no floor is no part", clock(0), 0, ""],
    ["the slowdown, whatever it multiplies", clock(4000, { slowdown: 2, crawl_delay_ms: 2000 }), null, "slowdown"],
  ])("%s", (_, host, floor, name) => expect(winner(delayParts(host, floor), host.delay_ms)).toBe(name));
});

describe("accessWords", () => {
  it.each([
    ["hold", "on hold"],
    ["something new", "something new"],
    [null, "–"],
  ])("%s", (access, words) => expect(accessWords(access)).toBe(words));
});
