/** What of a crawl can be changed while it runs: its pace and its limits, as text that people type. */
import type { CrawlDetail } from "../../api/types";
import { milliseconds } from "../../words/format";

type Ended = Pick<CrawlDetail, "status" | "reason" | "limited_by">;

type Kind = "time" | "seconds" | "count" | "bytes" | "yes";
export type Value = number | boolean | null;
export type Values = Record<string, Value>;
export type Texts = Record<string, string>;

export interface TuneField {
  name: string;
  group: "pace" | "limits";
  label: string;
  help: string;
  kind: Kind;
  empty: boolean; // may be empty: then there is no such limit
  forLife?: boolean; // a crawl that was started without it cannot get it any more
}

export const FIELDS: readonly TuneField[] = [
  {
    name: "floor_ms",
    group: "pace",
    label: "Delay",
    help: "the shortest gap between two requests to a host, such as 500 ms or 2 s",
    kind: "time",
    empty: false,
  },
  {
    name: "jitter_ms",
    group: "pace",
    label: "Jitter",
    help: "a random addition of up to this to each gap",
    kind: "time",
    empty: false,
  },
  {
    name: "max_inflight",
    group: "pace",
    label: "Requests at a time",
    help: "to one host",
    kind: "count",
    empty: false,
  },
  {
    name: "adaptive",
    group: "pace",
    label: "Let slow hosts rest longer",
    help: "",
    kind: "yes",
    empty: false,
  },
  {
    name: "max_pages",
    group: "limits",
    label: "Pages",
    help: "that end visited; empty: no limit",
    kind: "count",
    empty: true,
  },
  {
    name: "max_urls",
    group: "limits",
    label: "URLs",
    help: "that are admitted; it can be changed, not removed",
    kind: "count",
    empty: false,
    forLife: true,
  },
  {
    name: "max_frontier",
    group: "limits",
    label: "Open URLs",
    help: "at a time; it can be changed, not removed",
    kind: "count",
    empty: false,
    forLife: true,
  },
  {
    name: "max_urls_per_host",
    group: "limits",
    label: "URLs of one host",
    help: "that are fetched",
    kind: "count",
    empty: false,
  },
  {
    name: "max_seconds",
    group: "limits",
    label: "Time",
    help: "it runs, pauses not counted: 90 s, 30 min, 2 h; empty: no limit",
    kind: "seconds",
    empty: true,
  },
  {
    name: "max_bytes",
    group: "limits",
    label: "Bytes",
    help: "received in bodies: 500 MB, 2 GB; empty: no limit",
    kind: "bytes",
    empty: true,
  },
];

const SIZES: [string, number][] = [
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["KB", 1e3],
];
const SPANS: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** The largest unit that says it without a rest, so that reading it back gives the same number. */
function inUnits(value: number, units: [string, number][], smallest: string): string {
  const unit = units.find(([, size]) => value > 0 && value % size === 0);
  return unit ? `${value / unit[1]} ${unit[0]}` : `${value} ${smallest}`;
}

export function textOf(field: TuneField, value: Value): string {
  if (value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  switch (field.kind) {
    case "time":
      return inUnits(value, SPANS, "ms");
    case "seconds":
      return inUnits(value * 1000, SPANS, "ms");
    case "bytes":
      return inUnits(value, SIZES, "B");
    default:
      return String(value);
  }
}

const whole = (text: string): number | null => {
  const plain = text.replaceAll(",", "").trim();
  return /^\d+$/.test(plain) ? Number(plain) : null;
};

function bytesOf(text: string): number | null {
  const found = /^\s*([\d,]+(?:\.\d+)?)\s*(B|KB|MB|GB|TB)?\s*$/i.exec(text);
  if (!found) return null;
  const factor = SIZES.find(([name]) => name === found[2]?.toUpperCase())?.[1] ?? 1;
  return Math.round(Number((found[1] ?? "").replaceAll(",", "")) * factor);
}

/** A plain number is in seconds here; it is in milliseconds where a delay is typed. */
function secondsOf(text: string): number | null {
  const plain = whole(text);
  if (plain !== null) return plain;
  const ms = milliseconds(text);
  return ms === null ? null : Math.round(ms / 1000);
}

const PARSERS: Record<Exclude<Kind, "yes">, [parse: (text: string) => number | null, wrong: string]> = {
  time: [milliseconds, "type a time such as 500 ms or 2 s"],
  seconds: [secondsOf, "type a time such as 90 s, 30 min or 2 h"],
  count: [whole, "type a whole number"],
  bytes: [bytesOf, "type a size such as 500 MB or 2 GB"],
};

export type Parsed = { value: Value; wrong?: undefined } | { wrong: string };

export function parsed(field: TuneField, text: string): Parsed {
  if (field.kind === "yes") return { value: text === "yes" };
  if (!text.trim()) return field.empty ? { value: null } : { wrong: "it cannot be empty" };
  const [parse, wrong] = PARSERS[field.kind];
  const value = parse(text);
  return value === null ? { wrong } : { value };
}

/** The present values, from the settings of a crawl. */
export function valuesOf(settings: Record<string, unknown>): Values {
  const found: Values = {};
  for (const { name, group } of FIELDS) {
    const groupOf = settings[group === "pace" ? "polite" : "limits"];
    const value = (groupOf as Record<string, unknown> | undefined)?.[name];
    found[name] = typeof value === "number" || typeof value === "boolean" ? value : null;
  }
  return found;
}

export function textsOf(values: Values): Texts {
  return Object.fromEntries(FIELDS.map((field) => [field.name, textOf(field, values[field.name] ?? null)]));
}

/** Nothing can be typed there. */
export function closed(field: TuneField, before: Values): boolean {
  return field.forLife === true && (before[field.name] ?? null) === null;
}

export interface Changes {
  pace: Values;
  limits: Values;
  wrong: Texts; // by field
}

/** Only what differs is sent: others may change the rest at the same time. */
export function changesOf(before: Values, texts: Texts): Changes {
  const changes: Changes = { pace: {}, limits: {}, wrong: {} };
  for (const field of FIELDS) {
    if (closed(field, before)) continue;
    const result = parsed(field, texts[field.name] ?? "");
    if (result.wrong !== undefined) changes.wrong[field.name] = result.wrong;
    else if (result.value !== before[field.name]) changes[field.group][field.name] = result.value;
  }
  return changes;
}

const RAISED: ReadonlySet<string> = new Set(["max_pages", "max_seconds", "max_bytes"]);

/** The limit that ended a crawl and lets it go on when it is raised; null: none did. */
export function limitToRaise({ status, reason, limited_by }: Ended): TuneField | null {
  if (status !== "completed" || !reason.startsWith("limit_") || !RAISED.has(limited_by)) return null;
  return FIELDS.find((field) => field.name === limited_by) ?? null;
}

/** The field that a problem names: "max_pages", or "limits.max_pages"; null: none of ours. */
export function fieldOf(name: string | null): TuneField | null {
  const last = name?.split(".").at(-1);
  return FIELDS.find((field) => field.name === last) ?? null;
}
