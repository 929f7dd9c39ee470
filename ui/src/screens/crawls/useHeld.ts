import { type FocusEvent, useState } from "react";
import { type HeldRow, held, newer } from "./list";

interface Held<T> {
  rows: readonly HeldRow<T>[];
  waiting: number; // new rows that are not shown yet
  handlers: {
    onMouseEnter: () => void;
    onMouseLeave: () => void;
    onFocus: () => void;
    onBlur: (event: FocusEvent<HTMLElement>) => void;
  };
}

/**
 * While the pointer or the focus is inside, no row moves. `list` names what is listed: rows of another list are shown at
 * once. `may`: false lets go at once, as for a dialog.
 */
export function useHeld<T extends { id: number }>(fresh: readonly T[], list: string, may: boolean): Held<T> {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const [kept, setKept] = useState({ list, rows: fresh });
  const holding = may && (pointed || focused) && kept.list === list;
  // Follows what is shown until the pointer or the focus comes: then it stays.
  if (!holding && (kept.list !== list || kept.rows !== fresh)) setKept({ list, rows: fresh });
  return {
    rows: held(holding ? kept.rows : fresh, fresh),
    waiting: holding ? newer(kept.rows, fresh) : 0,
    handlers: {
      onMouseEnter: () => setPointed(true),
      onMouseLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: (event) => setFocused(event.currentTarget.contains(event.relatedTarget)),
    },
  };
}
