import { useEffect, useState } from "react";
import { client } from "../../../api/client";
import type { Change, Comparison } from "../../../api/types";
import { type Found, NOTHING, wanted, withAnswer } from "./comparison";

const LIMIT = 1000; // differences in an answer

/** Walks through both crawls, answer by answer, from `first` to `second`. */
export function useComparison(first: string, second: string) {
  const [found, setFound] = useState<Found>(NOTHING);
  const [error, setError] = useState<unknown>(null);
  const [run, setRun] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new run begins anew
  useEffect(() => {
    const stop = new AbortController();
    setFound(NOTHING);
    setError(null);
    walk(first, second, stop.signal, setFound).catch((failure: unknown) => {
      if (!stop.signal.aborted) setError(failure);
    });
    return () => stop.abort();
  }, [first, second, run]);
  return { found, error, again: () => setRun((before) => before + 1) };
}

async function walk(crawl: string, to: string, signal: AbortSignal, tell: (found: Found) => void): Promise<void> {
  let found = NOTHING;
  let after: string | null = "first:0";
  while (after !== null && !signal.aborted) {
    const answer = await ask(crawl, { to, after, change: wanted(found) }, signal);
    if (!answer || signal.aborted) return;
    found = withAnswer(found, answer);
    after = answer.next;
    tell(found);
  }
}

/** Lists differences of the kinds in `change`, or only counts where there are none of them. */
async function ask(
  crawl: string,
  asked: { to: string; after: string; change: Change[] },
  signal: AbortSignal,
): Promise<Comparison | undefined> {
  const query = { ...asked, limit: asked.change.length > 0 ? LIMIT : 0 };
  const { data } = await client.GET("/api/v1/crawls/{crawl}/differences", {
    params: { path: { crawl }, query },
    signal,
  });
  return data;
}
