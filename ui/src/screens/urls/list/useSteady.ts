import { type FocusEvent, type PointerEvent, useEffect, useState } from "react";
import { type Steady, steady } from "./rows";

/** Whether the pointer is over a box or the focus inside it. A finger does not hover. */
export function useLookedAt() {
  const [over, setOver] = useState(false);
  const [inside, setInside] = useState(false);
  const box = {
    onPointerEnter: (event: PointerEvent) => event.pointerType !== "touch" && setOver(true),
    onPointerLeave: () => setOver(false),
    onFocus: () => setInside(true),
    onBlur: (event: FocusEvent<HTMLElement>) => setInside(event.currentTarget.contains(event.relatedTarget)),
  };
  return { lookedAt: over || inside, box };
}

interface Kept<R> {
  key: string;
  rows: readonly R[];
}

/** While it is looked at nothing moves: new rows are counted and wait for `show`. `key`: another list begins anew. */
export function useSteady<R extends { id: number }>(key: string, fresh: readonly R[], old: boolean, lookedAt: boolean) {
  const [kept, setKept] = useState<Kept<R>>({ key: "", rows: [] });
  const holds = lookedAt && !old && kept.key === key;
  useEffect(() => {
    if (!old && !holds) setKept({ key, rows: fresh });
  }, [key, fresh, old, holds]);
  const shown: Steady<R> = holds ? steady(kept.rows, fresh) : { rows: fresh, waiting: 0 };
  return { ...shown, show: () => setKept({ key, rows: fresh }) };
}
