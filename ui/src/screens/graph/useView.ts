import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import { type Change, changed, type View, viewOf } from "./address";

export interface Address {
  view: View;
  /** A place to go Back to. */
  go: (change: Change) => void;
  /** A setting: Back need not pass through every one of them. */
  set: (change: Change) => void;
  /** The same as a link. */
  link: (change: Change) => string;
}

export function useView(): Address {
  const [search, setSearch] = useSearchParams();
  const view = useMemo(() => viewOf(search), [search]);
  const go = useCallback((change: Change) => setSearch((before) => changed(before, change)), [setSearch]);
  const set = useCallback(
    (change: Change) => setSearch((before) => changed(before, change), { replace: true }),
    [setSearch],
  );
  const link = useCallback((change: Change) => `?${changed(search, change)}`, [search]);
  return { view, go, set, link };
}
