import type { HostQueue } from "../../api/types";

/** A host may be asked when its queue has something due and its clock allows it. null: nothing of it is due. */
export function nextInMs({ queue, clock }: HostQueue): number | null {
  if (queue.dead || (queue.open === 0 && queue.due_in_ms === null)) return null;
  return Math.max(queue.due_in_ms ?? 0, clock?.next_in_ms ?? 0);
}

/** Of the page that is shown: the API lists the hosts of a crawl by name and does not search them. */
export function named(hosts: readonly HostQueue[], text: string): readonly HostQueue[] {
  const wanted = text.trim().toLowerCase();
  return wanted ? hosts.filter(({ queue }) => queue.host.toLowerCase().includes(wanted)) : hosts;
}
