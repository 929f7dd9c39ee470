/** The past of a crawl for its charts: what this page has heard, and what the store has kept where it did not listen. */
import type { Sample } from "../../api/live";

export interface Point {
  at: number; // ms
  rate: number | null; // null: there is nothing before it to tell
  ended: number;
  queued: number;
  failed: number;
}

export interface Kept {
  at: number; // ms
  answered: number; // requests, since the beginning
  ended: number;
  queued: number;
  failed: number;
}

const GAP_MS = 5000; // samples are heard every second; a longer silence is filled

/** The rate is that of the time since the sample before. */
function pointsOf(kept: readonly Kept[]): Point[] {
  return kept.map(({ at, answered, ended, queued, failed }, place) => {
    const before = kept[place - 1];
    const rate = before && at > before.at ? (Math.max(0, answered - before.answered) * 1000) / (at - before.at) : null;
    return { at, rate, ended, queued, failed };
  });
}

/** `end`: when a crawl that is over has ended; what was heard later is no part of its life. */
export function merged(heard: readonly Sample[], kept: readonly Kept[], end: number | null): Point[] {
  const own = pointsOf(kept);
  const points: Point[] = [];
  let last = Number.NEGATIVE_INFINITY;
  const fill = (until: number) => points.push(...own.filter(({ at }) => at > last && at < until));
  for (const sample of heard) {
    if (end !== null && sample.at > end + GAP_MS) break;
    if (sample.at - last > GAP_MS) fill(sample.at);
    points.push(sample);
    last = sample.at;
  }
  fill(Number.POSITIVE_INFINITY);
  return points;
}
