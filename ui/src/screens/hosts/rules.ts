/** An operator's rule for a host. PUT replaces the whole rule, so its other parts are sent again. */
import type { HostRule } from "../../api/types";
import { milliseconds } from "../../words/format";

type Known = Pick<HostRule, "delay_ms" | "blocked_in_ms" | "reason"> | null;

export interface RuleBody {
  delay_ms: number | null;
  blocked_in_ms: number | null;
  reason: string;
}

const HOUR = 3_600_000;

export const OWN = "own";

export const SPANS = [
  { name: "hour", text: "1 hour", ms: HOUR },
  { name: "day", text: "1 day", ms: 24 * HOUR },
  { name: "week", text: "1 week", ms: 7 * 24 * HOUR },
] as const;

/** null: what was typed is no time, or none at all. */
export function spanMs(choice: string, own: string): number | null {
  const span = SPANS.find(({ name }) => name === choice);
  return span ? span.ms : milliseconds(own) || null;
}

export function blockBody(rule: Known, ms: number, reason: string): RuleBody {
  return { delay_ms: rule?.delay_ms ?? null, blocked_in_ms: ms, reason: reason || (rule?.reason ?? "") };
}

export function delayBody(rule: Known, ms: number, reason: string): RuleBody {
  return { delay_ms: ms, blocked_in_ms: rule?.blocked_in_ms || null, reason: reason || (rule?.reason ?? "") };
}

export const isBlocked = (rule: Known): boolean => Boolean(rule?.blocked_in_ms);
