import type { HostQueue } from "../../api/types";

/** A host may be asked when its queue has something due and its clock allows it. null: nothing of it is due. */
export function nextInMs({ queue, clock }: HostQueue): number | null {
  if (queue.dead || (queue.open === 0 && queue.due_in_ms === null)) return null;
  return Math.max(queue.due_in_ms ?? 0, clock?.next_in_ms ?? 0);
}
