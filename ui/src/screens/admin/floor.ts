/** The shortest gap between two requests to a host, in all crawls. */
import { count, duration, milliseconds } from "../../words/format";

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;

/** The floor as text that reads back to the same number. */
export function typed(ms: number): string {
  return ms % 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

/** Reads a floor: a plain 0 is none; every other number needs its unit, since "2" might be seconds or milliseconds. */
export function read(text: string): { ms: number } | { wrong: string } {
  const bare = /^\s*\d+(\.\d+)?\s*$/.test(text);
  const ms = milliseconds(text);
  if (ms === null || (bare && ms !== 0))
    return { wrong: "Give a time with its unit, like 2 s, 500 ms or 1 min; 0 is none." };
  return ms > WEEK_MS ? { wrong: "At most 7 days." } : { ms };
}

export function meaning(ms: number): string {
  if (ms === 0) return "There is no global limit: the delays of each crawl hold.";
  const perMinute = MINUTE_MS / ms;
  const often =
    perMinute >= 1 ? `at most ${count(Math.floor(perMinute))} a minute to each` : "less than one a minute to each";
  return `No host is asked more often than every ${duration(ms)}, whatever a crawl says: ${often}.`;
}
