/** Keeps the graph up to date: reads it, waits, reads again, as long as somebody looks at it. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { client } from "../../api/client";
import type { Kind } from "./address";
import { GraphData, PAGE, type Read } from "./graphData";

const SECOND = 1000;

export function readerOf(crawl: string): Read {
  return async (kind, after, signal) => {
    const { data } = await client.GET("/api/v1/crawls/{crawl}/graph", {
      params: { path: { crawl }, query: { kind, after, limit: PAGE[kind] } },
      signal,
    });
    if (!data) throw new Error("the server answered nothing");
    return data;
  };
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, seconds * SECOND);
    signal.addEventListener("abort", end);
  });
}

export async function follow(
  data: GraphData,
  kind: Kind,
  over: boolean,
  every: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // A tab that nobody sees need not be up to date.
    if (!document.hidden || !data.nodesRead) await data.refresh(kind, signal, over);
    if (over && !data.error) return;
    await pause(every(), signal);
  }
}

interface Wanted {
  kind: Kind;
  every: number;
  over: boolean;
  attempt: number; // another value begins anew
}

export function useGraphData(crawl: string, { kind, every, over, attempt }: Wanted): GraphData {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new graph
  const data = useMemo(() => new GraphData(readerOf(crawl)), [crawl, attempt]);
  const pace = useRef(every);
  pace.current = every;
  useEffect(() => {
    const stop = new AbortController();
    void follow(data, kind, over, () => pace.current, stop.signal);
    return () => stop.abort();
  }, [data, kind, over]);
  useSyncExternalStore(data.subscribe, () => data.version);
  return data;
}
