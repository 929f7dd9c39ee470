import type { Progress } from "../api/types";
import { count, duration, many, rate, words } from "./format";

/** What the sentence is made of. */
export type Facts = Pick<
  Progress,
  | "state"
  | "reason"
  | "cause"
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
  | "requisites"
>;

/** What bounds the end of a crawl. */
export function boundWords({ host, delay_ms, queued }: NonNullable<Facts["bounded_by"]>): string {
  return `bounded by ${host} (${duration(delay_ms)} delay, ${count(queued)} queued)`;
}

/** Which host is asked first when all of them rest. */
export function restWords({ host, in_ms, reason }: NonNullable<Facts["resting"]>): string {
  return `${host} is next in ${duration(in_ms)}${reason ? ` (${reason})` : ""}`;
}

/** How far what pages need is; empty where the crawl does not take it. */
function neededWords({ urls, queued, in_progress }: Facts["requisites"], over: boolean): string {
  if (!urls) return "";
  return `, ${over ? "" : `${count(urls - queued - in_progress)} of about `}${many(urls, "requisite")}`;
}

/** The one sentence of a crawl: how far, how fast, when it ends and what bounds that. */
export function sentence(facts: Facts): string {
  const ended = facts.total - facts.queued - facts.in_progress;
  const far = `${count(ended)} of about ${many(facts.total, "URL")}${neededWords(facts.requisites, false)}`;
  switch (facts.state) {
    case "completed": {
      const limit = facts.limited_by
        ? `; ended by its limit on ${words(facts.limited_by.replace(/^limits?[._]/, ""))}`
        : "";
      return `${many(ended, "URL")}${neededWords(facts.requisites, true)} in ${duration(facts.active_ms)}${limit}.`;
    }
    case "cancelled":
      return `Cancelled after ${duration(facts.active_ms)}, with ${many(ended, "URL")} ended.`;
    case "failed":
      return `Failed: ${facts.cause || (facts.reason ? words(facts.reason) : "no seed could be had")}.`;
    case "paused":
      return `Paused${facts.reason ? ` (${facts.reason})` : ""} at ${far}.`;
    case "ending":
      return `Ending: ${far} done.`;
  }
  if (facts.waiting) return `${far}; waiting: ${facts.waiting}.`;
  if (facts.resting) return `${far}; every host rests, ${restWords(facts.resting)}.`;
  const parts = [far];
  if (facts.rate != null) parts.push(rate(facts.rate));
  if (facts.eta_seconds != null) parts.push(`done in about ${duration(facts.eta_seconds * 1000)}`);
  const why = facts.bounded_by ? `; ${boundWords(facts.bounded_by)}` : "";
  return `${parts.join(", ")}${why}.`;
}
