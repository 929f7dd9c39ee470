/** A comparison of two crawls as far as it has come: its answers are added up. Pure. */
import type { Change, Comparison, Difference } from "../../../api/types";
import { count, many } from "../../../words/format";

export const CHANGES: readonly Change[] = ["added", "gone", "state", "content"];
export const KEPT = 1000; // differences of each kind: more are counted, not shown

export interface Found {
  counts: Comparison["counts"];
  kept: Record<Change, readonly Difference[]>;
  lookedAt: number;
  total: number;
  comparable: boolean;
  over: boolean;
}

export const NOTHING: Found = {
  counts: { added: 0, gone: 0, state: 0, content: 0, same: 0 },
  kept: { added: [], gone: [], state: [], content: [] },
  lookedAt: 0,
  total: 0,
  comparable: true,
  over: false,
};

export function withAnswer(before: Found, answer: Comparison): Found {
  const { counts, differences } = answer;
  const sum = { ...before.counts };
  for (const name of [...CHANGES, "same"] as const) sum[name] += counts[name];
  const kept = { ...before.kept };
  for (const change of CHANGES) {
    const more = differences.filter((each) => each.change === change);
    if (more.length > 0) kept[change] = [...kept[change], ...more].slice(0, KEPT);
  }
  const lookedAt = before.lookedAt + answer.looked_at;
  return {
    counts: sum,
    kept,
    lookedAt,
    total: Math.max(answer.total, lookedAt), // a crawl that runs grows
    comparable: answer.comparable,
    over: answer.next === null,
  };
}

/** The kinds of which more are to be listed; of the others only the count is of interest. */
export function wanted({ kept }: Found): Change[] {
  return CHANGES.filter((change) => kept[change].length < KEPT);
}

const WORDS: Record<Change, string> = {
  added: "added",
  gone: "gone",
  state: "in another state",
  content: "with another content",
};

export const changeWords = (change: Change): string => WORDS[change];

/** "12 added, 3 gone, 9,944 the same since crawl 3". */
export function summary({ counts }: Found, first: string): string {
  const differing = CHANGES.filter((change) => counts[change] > 0).map((c) => `${count(counts[c])} ${WORDS[c]}`);
  const parts = differing.length > 0 ? differing : ["nothing differs"];
  return `${[...parts, `${count(counts.same)} the same`].join(", ")} since crawl ${first}`;
}

export function progressWords({ lookedAt, total }: Found): string {
  return total ? `compared ${count(lookedAt)} of ${many(total, "URL")}` : "comparing";
}
