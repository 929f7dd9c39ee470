import { describe, expect, it } from "vitest";
import { blockBody, delayBody, isBlocked, OWN, spanMs } from "./rules";

describe("spanMs", () => {
  it.each([
    ["hour", "", 3_600_000],
    ["week", "ignored", 604_800_000],
    [OWN, "90 min", 5_400_000],
    [OWN, "soon", null],
    [OWN, "", null],
    [OWN, "0", null],
  ])("%s %s", (choice, own, ms) => expect(spanMs(choice, own)).toBe(ms));
});

describe("a rule is replaced as a whole", () => {
  const both = { delay_ms: 5000, blocked_in_ms: 60_000, reason: "asked us to" };

  it("a block keeps the delay, and the reason unless there is another", () => {
    expect(blockBody(both, 1000, "")).toEqual({ delay_ms: 5000, blocked_in_ms: 1000, reason: "asked us to" });
    expect(blockBody(both, 1000, "worse").reason).toBe("worse");
  });

  it("a delay keeps what is left of the block", () => {
    expect(delayBody(both, 2000, "")).toEqual({ delay_ms: 2000, blocked_in_ms: 60_000, reason: "asked us to" });
  });

  it("a block that has run out is not made again", () => {
    expect(delayBody({ ...both, blocked_in_ms: 0 }, 2000, "").blocked_in_ms).toBeNull();
    expect(isBlocked({ ...both, blocked_in_ms: 0 })).toBe(false);
  });

  it("without a rule only what is asked for is said", () => {
    expect(blockBody(null, 1000, "")).toEqual({ delay_ms: null, blocked_in_ms: 1000, reason: "" });
    expect(delayBody(null, 1000, "slow")).toEqual({ delay_ms: 1000, blocked_in_ms: null, reason: "slow" });
  });
});
