import { useEffect, useRef } from "react";
import { useSearchParams } from "react-router";
import type { UrlRow } from "../../../api/types";
import { HEADING } from "../inspect/useInspectorFocus";
import { inspecting, readQuery, type UrlsQuery, writeQuery } from "./query";

const FOLLOW_MS = 150; // arrows that are held down do not ask for every row they pass

/** Typing replaces the entry of the history; whatever is chosen or clicked makes a new one. */
export function useQueryInAddress(states: UrlsQuery["states"] | undefined) {
  const [search, setSearch] = useSearchParams();
  const read = readQuery(search);
  const query = states ? { ...read, states, reason: "" } : read;
  const go = (next: UrlsQuery, replace = false) =>
    setSearch((before) => writeQuery(before, states ? { ...next, states: [] } : next), { replace });
  return [query, go] as const;
}

export function useOpening(inspected: number | null, tabOf: ((row: UrlRow) => string) | undefined) {
  const [, setSearch] = useSearchParams();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const newest = useRef(setSearch);
  newest.current = setSearch;
  useEffect(() => () => clearTimeout(timer.current), []);
  const open = (row: UrlRow) => {
    clearTimeout(timer.current);
    if (row.id !== inspected) setSearch((before) => inspecting(before, row.id, tabOf?.(row)));
    // One that opens takes the focus by itself if the keyboard opened it.
    if (document.activeElement?.matches(":focus-visible")) document.getElementById(HEADING)?.focus();
  };
  const follow = (row: UrlRow) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => newest.current((before) => inspecting(before, row.id), { replace: true }),
      FOLLOW_MS,
    );
  };
  return { open, follow };
}
