import type { Progress, Queue } from "../../api/types";

export interface Bound {
  host: string;
  queued: number;
  delayMs: number;
  needMs: number; // what its politeness alone takes for all that is queued
  dueInMs: number | null; // null: a worker holds it, or nothing is due
  standing: "dead" | "rests" | "held" | "waits";
  why: string;
}

const RESTING_MS = 3000; // as the server has it: a shorter wait is the ordinary pace

/** Hosts by what they need at their pace: the first one bounds the end of the crawl. A host not asked yet has no delay of
 * its own: the crawl's floor counts. */
export function boundsOf(queues: readonly Queue[], floorMs: number, resting: Progress["resting"]): Bound[] {
  return queues
    .filter((queue) => queue.open > 0 || queue.dead)
    .map((queue) => boundOf(queue, Math.max(queue.delay_ms, floorMs), resting))
    .sort((one, other) => other.needMs - one.needMs || other.queued - one.queued || (one.host < other.host ? -1 : 1));
}

function boundOf(queue: Queue, delayMs: number, resting: Progress["resting"]): Bound {
  const facts = { host: queue.host, queued: queue.open, delayMs, dueInMs: queue.due_in_ms };
  const needMs = queue.dead ? 0 : queue.open * delayMs;
  if (queue.dead) return { ...facts, needMs, standing: "dead", why: queue.dead };
  if (resting?.host === queue.host) return { ...facts, needMs, standing: "rests", why: resting.reason };
  if ((queue.due_in_ms ?? 0) > Math.max(RESTING_MS, 2 * delayMs))
    return { ...facts, needMs, standing: "rests", why: "" };
  return { ...facts, needMs, standing: queue.held_by !== null ? "held" : "waits", why: "" };
}

/** The floor of the crawl's delays, from its settings. */
export function floorOf(settings: Record<string, unknown>): number {
  const polite = settings.polite as { floor_ms?: unknown } | undefined;
  return typeof polite?.floor_ms === "number" ? polite.floor_ms : 0;
}
