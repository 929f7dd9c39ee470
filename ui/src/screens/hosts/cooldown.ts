/** Times that the server told as "in so many ms", running down between two reads. */

export function remaining(inMs: number, readAt: number, now: number): number {
  return Math.max(0, inMs - Math.max(0, now - readAt));
}

/** Whole seconds above one: a number that people read must not flicker. */
export function calm(ms: number): number {
  return ms > 1000 ? Math.ceil(ms / 1000) * 1000 : Math.ceil(ms);
}

export interface Seen {
  next: number; // as the last read told it
  whole: number; // how long the present wait was when it was first seen
}

/** A bar that runs down needs its full length: the wait grew, so a new one began; else it is the same one. */
export function seen(before: Seen | null, next: number, delay: number): Seen {
  if (before && next <= before.next && next <= before.whole) return { next, whole: Math.max(before.whole, 1) };
  return { next, whole: Math.max(next, delay, 1) };
}
