/** The health of a worker, from its report of every second; and which rows are shown where. */
import type { Worker } from "../../api/types";
import { withParameters } from "../address";

export type Pulse = "fresh" | "late" | "ended";

const LATE_MS = 5_000; // it speaks every second; a third of the usual lease
const OPEN = "open";

/** Only the server knows that one is dead (its lease, its lock): silence alone makes it late. */
export function pulseOf(worker: Pick<Worker, "alive" | "seen_at">, now: number): Pulse {
  if (!worker.alive) return "ended";
  return now - Date.parse(worker.seen_at) > LATE_MS ? "late" : "fresh";
}

/** By id, so that a row keeps its place. `held`: rows under the pointer, which stay even when their worker ends. */
export function shownOf(workers: readonly Worker[], held: ReadonlySet<number>): Worker[] {
  return workers.filter(({ alive, id }) => alive || held.has(id)).sort((a, b) => a.id - b.id);
}

/** The latest first: nothing comes and goes here but at the top. */
export function endedOf(workers: readonly Worker[], held: ReadonlySet<number>): Worker[] {
  return workers.filter(({ alive, id }) => !alive && !held.has(id)).sort((a, b) => b.id - a.id);
}

export function partitionsOf(workers: readonly Worker[]): number {
  return workers.reduce((all, { alive, partitions }) => all + (alive ? partitions : 0), 0);
}

/** Rows that are opened, as the address has them: `?open=3,8`. */
export function openOf(search: URLSearchParams): Set<number> {
  const ids = (search.get(OPEN) ?? "").split(",").filter((text) => /^\d+$/.test(text));
  return new Set(ids.map(Number));
}

export function toggled(search: URLSearchParams, id: number): URLSearchParams {
  const open = openOf(search);
  if (!open.delete(id)) open.add(id);
  return withParameters(search, { [OPEN]: [...open].sort((a, b) => a - b).join(",") });
}

/** Two crawls may fetch the same URL at once: a list needs a key for each. */
export function keyed(urls: readonly string[]): { key: string; url: string }[] {
  const seen = new Map<string, number>();
  return urls.map((url) => {
    const times = (seen.get(url) ?? 0) + 1;
    seen.set(url, times);
    return { key: `${times} ${url}`, url };
  });
}

export function cores(value: number): string {
  return value.toFixed(2);
}
