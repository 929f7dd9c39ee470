import { type FocusEvent, useState } from "react";
import { heldRows, newRows } from "./latest";

/** While the pointer or the focus is inside, new rows wait; `show` lets them in all the same. */
export function useHold<T extends { id: number }>(fresh: readonly T[]) {
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const [kept, setKept] = useState<readonly T[]>(fresh);
  const holding = (pointed || focused) && kept.length > 0;
  if (!holding && kept !== fresh) setKept(fresh);
  return {
    rows: holding ? heldRows(kept, fresh) : fresh,
    waiting: holding ? newRows(kept, fresh) : 0,
    show: () => setKept(fresh),
    box: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocus: () => setFocused(true),
      onBlur: (event: FocusEvent<HTMLElement>) => setFocused(event.currentTarget.contains(event.relatedTarget)),
    },
  };
}
