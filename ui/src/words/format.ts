/** Numbers, sizes, times as people read them. Everything is pure; the locale is the browser's. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const dayTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

const SIZES = ["B", "KB", "MB", "GB", "TB", "PB"];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function count(value: number): string {
  return whole.format(value);
}

export function rate(perSecond: number | null | undefined): string {
  if (perSecond == null) return "–";
  return `${perSecond >= 10 ? whole.format(perSecond) : tenth.format(perSecond)}/s`;
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return "–";
  let size = value;
  let unit = 0;
  // As it will be shown: 999,999 B are 1 MB, not 1,000 KB.
  while (Math.round(size) >= 1000 && unit < SIZES.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit && size < 100 ? tenth.format(size) : whole.format(size)} ${SIZES[unit]}`;
}

/** "4 min", "1 h 20 min", "350 ms": two units at most. */
export function duration(ms: number | null | undefined): string {
  if (ms == null) return "–";
  // Each bound is of the rounded number: nothing is ever "1,000 ms", "60 min" or "24 h".
  if (Math.round(ms) < 1000) return `${whole.format(ms)} ms`;
  if (ms < 10_000) return `${tenth.format(ms / 1000)} s`;
  if (Math.round(ms / 1000) < 120) return `${whole.format(ms / 1000)} s`;
  if (Math.round(ms / MINUTE) < 60) return `${whole.format(ms / MINUTE)} min`;
  if (Math.round(ms / MINUTE) < 24 * 60) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, "d", HOUR, "h");
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  let first = Math.floor(ms / large);
  let rest = Math.round((ms - first * large) / small);
  if (rest * small >= large) {
    first += 1;
    rest = 0;
  }
  return rest ? `${first} ${largeName} ${rest} ${smallName}` : `${first} ${largeName}`;
}

/** "12 s ago", and "in 3 min" for what is to come. */
export function ago(at: number, now: number): string {
  const gap = now - at;
  if (Math.abs(gap) < 1000) return "now";
  return gap > 0 ? `${duration(gap)} ago` : `in ${duration(-gap)}`;
}

export function exactly(at: number): string {
  return exactTime.format(at);
}

export function dateTime(at: number): string {
  return dayTime.format(at);
}

export function percent(part: number, all: number): string {
  return all ? `${whole.format((100 * part) / all)} %` : "–";
}

/** "1 page", "2 pages". */
export function many(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}

/** "345 pages", "more than 10,000 pages" where counting stopped. */
export function manyOrMore(total: number, exact: boolean, one: string): string {
  return exact ? many(total, one) : `more than ${many(total, one)}`;
}

/** in_progress -> "in progress". */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** What a user may type for a time: "500", "2s", "1.5 min"; plain numbers are ms. null: neither. */
export function milliseconds(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?\s*$/.exec(text);
  if (!found) return null;
  const factor = { ms: 1, s: 1000, m: MINUTE, min: MINUTE, h: HOUR, d: DAY }[found[2] ?? "ms"] ?? 1;
  return Math.round(Number(found[1]) * factor);
}
