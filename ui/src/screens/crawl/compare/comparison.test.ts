import { describe, expect, it } from "vitest";
import type { Change, Comparison, Difference } from "../../../api/types";
import { KEPT, NOTHING, progressWords, summary, wanted, withAnswer } from "./comparison";

const difference = (change: Change, at: number): Difference => ({
  change,
  url: `https://a.example/${at}`,
  first: change === "added" ? null : { id: at, state: "visited" },
  second: change === "gone" ? null : { id: at, state: "visited" },
});

const answer = (fields: Partial<Comparison> = {}): Comparison => ({
  first: 3,
  second: 7,
  comparable: true,
  differences: [],
  counts: { added: 0, gone: 0, state: 0, content: 0, same: 10 },
  looked_at: 10,
  total: 40,
  next: "first:10",
  ...fields,
});

describe("a comparison", () => {
  it("adds up what its answers count and list", () => {
    const some = answer({
      differences: [difference("gone", 1), difference("content", 2)],
      counts: { added: 0, gone: 1, state: 0, content: 1, same: 8 },
    });
    const found = [some, some, answer({ next: null })].reduce(withAnswer, NOTHING);
    expect(found.counts).toEqual({ added: 0, gone: 2, state: 0, content: 2, same: 26 });
    expect(found.kept.gone).toHaveLength(2);
    expect([found.lookedAt, found.total, found.over]).toEqual([30, 40, true]);
    expect(summary(found, "3")).toBe("2 gone, 2 with another content, 26 the same since crawl 3");
  });

  it("keeps so many of a kind, and then asks for the others only", () => {
    const differences = Array.from({ length: KEPT + 5 }, (_, at) => difference("added", at));
    const found = withAnswer(NOTHING, answer({ differences }));
    expect(found.kept.added).toHaveLength(KEPT);
    expect(wanted(found)).toEqual(["gone", "state", "content"]);
  });

  it("says how far it is, also where a crawl grows meanwhile", () => {
    expect(progressWords(NOTHING)).toBe("comparing");
    expect(progressWords(withAnswer(NOTHING, answer()))).toBe("compared 10 of 40 URLs");
    expect(progressWords(withAnswer(NOTHING, answer({ looked_at: 50 })))).toBe("compared 50 of 50 URLs");
  });

  it("of equals says so", () => {
    expect(summary(withAnswer(NOTHING, answer({ next: null })), "3")).toBe(
      "nothing differs, 10 the same since crawl 3",
    );
  });
});
