import type { HostClock } from "../../api/types";
import { duration } from "../../words/format";

export interface DelayPart {
  name: string;
  ms: number | null; // null: it says nothing of this host
  note: string;
}

/** What the host's delay is made of, as far as it is the same for all crawls; each crawl has its own floor beside. */
export function delayParts(clock: HostClock, floorMs: number | null): DelayPart[] {
  const { pace } = clock;
  return [
    {
      name: "floor of all crawls",
      ms: floorMs || null,
      note: "set under Admin; a crawl may have a longer one of its own",
    },
    { name: "crawl-delay", ms: pace.crawl_delay_ms, note: "what its robots.txt asks for" },
    { name: "override", ms: pace.override_ms, note: "the rule of an operator" },
    { name: "adaptive", ms: null, note: adaptiveNote(pace.latency_ms) },
    { name: "slowdown", ms: pace.slowdown > 1 ? clock.delay_ms : null, note: slowdownNote(pace.slowdown) },
  ];
}

function adaptiveNote(latency: number | null): string {
  const how = "a multiple of its mean latency, in crawls that adapt";
  return latency === null ? how : `${how}; now ${duration(latency)}`;
}

function slowdownNote(slowdown: number): string {
  return slowdown > 1
    ? `× ${slowdown.toFixed(2)}: it answered 429, each success takes some back`
    : "none: it did not say 429";
}

/** The name of the part that explains the delay; "" where it is a crawl's own floor or its adaptive part. */
export function winner(parts: readonly DelayPart[], delayMs: number): string {
  const slowed = parts.find(({ name, ms }) => name === "slowdown" && ms !== null);
  if (slowed) return slowed.name;
  return parts.find(({ ms }) => ms !== null && ms > 0 && ms === delayMs)?.name ?? "";
}

const ACCESS: Record<string, string> = {
  rules: "rules",
  allow_all: "allows all",
  hold: "on hold",
  pending: "pending",
};

/** The access of a robots.txt in words; on hold: it could not be had, so the host waits. */
export function accessWords(access: string | null | undefined): string {
  return access ? (ACCESS[access] ?? access) : "–";
}
