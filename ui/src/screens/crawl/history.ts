/** The past of a crawl for its charts: what this page has heard, and buckets of the server where it has not listened. */
import type { Sample } from "../../api/live";

export interface Point {
  at: number; // ms
  rate: number;
  ended: number;
  queued: number | null; // null: nobody kept it
  failed: number | null;
}

export interface Bucket {
  at: number; // ms, its beginning
  pages: number;
}

interface Mark {
  at: number;
  ended: number;
}

const GAP_MS = 5000; // samples come every second; a longer silence is filled from buckets
const FILLED_MAX = 2000;

/** Empty buckets are not told, but a rate of none is a fact. */
function withZeros(buckets: readonly Bucket[], size: number): Bucket[] {
  const filled: Bucket[] = [];
  for (const bucket of buckets) {
    let next = (filled.at(-1)?.at ?? bucket.at - size) + size;
    for (; next < bucket.at && filled.length < FILLED_MAX; next += size) filled.push({ at: next, pages: 0 });
    filled.push(bucket);
  }
  return filled;
}

/** Buckets count what was fetched, of a large crawl in a sample: they share out what ended between two marks. */
function between(buckets: readonly Bucket[], size: number, from: Mark, to: Mark): Point[] {
  const inside = buckets.filter(({ at }) => at >= from.at && at + size <= to.at);
  const all = inside.reduce((sum, { pages }) => sum + pages, 0);
  const each = all ? Math.max(0, to.ended - from.ended) / all : 0;
  let ended = from.ended;
  return inside.map(({ at, pages }) => {
    ended += pages * each;
    return { at: at + size, rate: (pages * each * 1000) / size, ended: Math.round(ended), queued: null, failed: null };
  });
}

/** `end`: of a crawl that is over, when and with how many; what was heard later is no part of its life. */
export function merged(
  samples: readonly Sample[],
  buckets: readonly Bucket[],
  bucketSeconds: number,
  end: Mark | null,
): Point[] {
  const size = bucketSeconds * 1000;
  const all = withZeros(buckets, size);
  const points: Point[] = [];
  let last: Mark = { at: 0, ended: 0 };
  for (const sample of samples) {
    if (end && sample.at > end.at + GAP_MS) break;
    if (sample.at - last.at > GAP_MS) points.push(...between(all, size, last, sample));
    points.push(sample);
    last = sample;
  }
  // The bucket in which it ended is cut short by that end: it counts all the same.
  if (end && end.at - last.at > GAP_MS) points.push(...between(all, size, last, { ...end, at: end.at + size }));
  return points;
}
