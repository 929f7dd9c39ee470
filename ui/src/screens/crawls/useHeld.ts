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

/** While the pointer or the focus is inside, no row moves. `may`: false lets go at once, as for a dialog. */
export function useHeld<T extends { id: number }>(fresh: readonly T[], may: boolean): Held<T> {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const [kept, setKept] = useState<readonly T[]>(fresh);
  const holding = may && (pointed || focused);
  // Follows what is shown until somebody comes: then it is what stays.
  if (!holding && kept !== fresh) setKept(fresh);
  return {
    rows: held(holding ? kept : fresh, fresh),
    waiting: holding ? newer(kept, fresh) : 0,
    handlers: {
      onMouseEnter: () => setPointed(true),
      onMouseLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: (event) => setFocused(event.currentTarget.contains(event.relatedTarget)),
    },
  };
}
