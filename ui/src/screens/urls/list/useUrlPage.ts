import { type InfiniteData, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { client, LIVE_MS } from "../../../api/client";
import { Problem } from "../../../api/problem";
import type { UrlRow } from "../../../api/types";
import { apiQuery, type Place, placeOf, ROWS, type UrlsQuery } from "./query";
import { unique } from "./rows";

interface Part {
  urls: UrlRow[];
  next: number | null;
  unsortable?: string;
}

const GO_ON_MAX = 5; // scans after the first that need no click
const SLOW_MS = 5 * LIVE_MS; // pages that took several scans are asked for less often
const PARTS_LIVE_MAX = GO_ON_MAX + 1;

async function read(crawl: string, query: UrlsQuery, place: Place, signal: AbortSignal): Promise<Part> {
  const params = { path: { crawl }, query: apiQuery(query, place) };
  const { data } = await client.GET("/api/v1/crawls/{crawl}/urls", { params, signal });
  if (!data) throw new Problem(500, "internal", "the server sent nothing");
  return data;
}

export function rowsOf(parts: readonly Part[]): UrlRow[] {
  return unique(parts.flatMap((part) => part.urls));
}

/** One search looks at so many rows only: where it found too few, the next goes on from there. */
export function placeAfter(last: Part, parts: readonly Part[]): Place | undefined {
  const room = ROWS - rowsOf(parts).length;
  return last.next === null || room <= 0 ? undefined : { at: last.next, limit: room };
}

export function refreshMs(running: boolean, parts: number): number | false {
  if (!running || parts > PARTS_LIVE_MAX) return false;
  return parts > 1 ? SLOW_MS : LIVE_MS;
}

export interface UrlPage {
  key: string; // what the rows are of
  rows: readonly UrlRow[];
  next: number | null;
  pending: boolean;
  old: boolean; // the rows are of the view before
  searching: boolean;
  unsortable: string; // why it can be listed as found only
  stopped: boolean; // it was searched far enough without a word
  error: Error | null;
  goOn: () => void;
  again: () => void;
}

export function useUrlPage(crawl: string, query: UrlsQuery, running: boolean): UrlPage {
  const key = JSON.stringify([crawl, apiQuery(query, placeOf(query))]);
  const found = useInfiniteQuery<Part, Error, InfiniteData<Part>, string[], Place>({
    queryKey: ["urls", crawl, key],
    queryFn: ({ pageParam, signal }) => read(crawl, query, pageParam, signal),
    initialPageParam: placeOf(query),
    getNextPageParam: placeAfter,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => refreshMs(running, state.data?.pages.length ?? 1),
  });
  const [allowed, setAllowed] = useState({ key, scans: GO_ON_MAX });
  const scans = allowed.key === key ? allowed.scans : GO_ON_MAX;
  const old = found.isPlaceholderData;
  const parts = found.data?.pages;
  const { fetchNextPage, refetch, isFetching, isError } = found;
  const more = found.hasNextPage && !old;
  const searched = parts?.length ?? 0;
  const alone = more && !isError && searched <= scans;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a fast answer may come without `isFetching` ever being seen
  useEffect(() => {
    if (alone && !isFetching) void fetchNextPage({ cancelRefetch: false });
  }, [alone, searched, isFetching, fetchNextPage]);
  const rows = useMemo(() => rowsOf(parts ?? []), [parts]);
  return {
    key,
    rows,
    next: parts?.at(-1)?.next ?? null,
    pending: found.isPending,
    old,
    searching: alone,
    unsortable: parts?.[0]?.unsortable ?? "",
    stopped: more && !alone,
    error: found.error,
    goOn: () => {
      setAllowed({ key, scans: scans + GO_ON_MAX });
      if (isError) void fetchNextPage();
    },
    again: () => void refetch(),
  };
}
