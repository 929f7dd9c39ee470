import type { Progress } from "../api/types";
import { count, duration, many, rate, words } from "./format";

type Facts = Pick<
  Progress,
  | "state"
  | "reason"
  | "limited_by"
  | "total"
  | "queued"
  | "in_progress"
  | "rate"
  | "eta_seconds"
  | "bounded_by"
  | "resting"
  | "waiting"
  | "active_ms"
>;

/** The one sentence of a crawl: how far, how fast, when it ends and what bounds that. */
export function sentence(facts: Facts): string {
  const ended = facts.total - facts.queued - facts.in_progress;
  const far = `${count(ended)} of about ${many(facts.total, "URL")}`;
  switch (facts.state) {
    case "completed": {
      const limit = facts.limited_by
        ? `; ended by its limit on ${words(facts.limited_by.replace(/^limits?[._]/, ""))}`
        : "";
      return `${many(ended, "URL")} in ${duration(facts.active_ms)}${limit}.`;
    }
    case "cancelled":
      return `Cancelled after ${duration(facts.active_ms)}, with ${many(ended, "URL")} ended.`;
    case "failed":
      return `Failed after ${many(ended, "URL")}${facts.reason ? `: ${facts.reason}` : ""}.`;
    case "paused":
      return `Paused${facts.reason ? ` (${facts.reason})` : ""} at ${far}.`;
    case "ending":
      return `Ending: ${far} done.`;
  }
  if (facts.waiting) return `${far}; waiting: ${facts.waiting}.`;
  if (facts.resting) {
    const { host, in_ms, reason } = facts.resting;
    return `${far}; every host rests, ${host} is next in ${duration(in_ms)}${reason ? ` (${reason})` : ""}.`;
  }
  const parts = [far];
  if (facts.rate != null) parts.push(rate(facts.rate));
  if (facts.eta_seconds != null) parts.push(`done in about ${duration(facts.eta_seconds * 1000)}`);
  const bound = facts.bounded_by;
  const why = bound
    ? `; bounded by ${bound.host} (${duration(bound.delay_ms)} delay, ${count(bound.queued)} queued)`
    : "";
  return `${parts.join(", ")}${why}.`;
}
