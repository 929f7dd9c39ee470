import type { HostRule } from "../../api/types";
import { useNow } from "../../look/Moment";
import { duration } from "../../words/format";
import { calm, remaining } from "./cooldown";
import { isBlocked } from "./rules";

type Known = Pick<HostRule, "delay_ms" | "blocked_in_ms" | "reason"> | null;

/** An operator's rule in a few words; its reason on hover. */
export function RuleWords({ rule, readAt }: { rule: Known; readAt: number }) {
  if (!rule) return <span className="text-dim">–</span>;
  return (
    <span title={rule.reason || undefined} className="inline-flex gap-2">
      {isBlocked(rule) && <Blocked inMs={rule.blocked_in_ms ?? 0} readAt={readAt} />}
      {rule.delay_ms !== null && <span>at least {duration(rule.delay_ms)}</span>}
    </span>
  );
}

function Blocked({ inMs, readAt }: { inMs: number; readAt: number }) {
  const left = remaining(inMs, readAt, useNow());
  if (!left) return <span className="text-dim">block is over</span>;
  return <span className="font-medium text-danger">blocked, {duration(calm(left))} left</span>;
}
