/** What makes a URL wait: its queue, the clock of its host, the parts of the delay, an operator's word. */
import { Link } from "react-router";
import type { Explanation } from "../../../api/types";
import { Moment } from "../../../look/Moment";
import { count, duration, many, words } from "../../../words/format";
import { Countdown, Fact, Facts, Part } from "./Parts";

export function HostParts({ known, at }: { known: Explanation; at: number }) {
  return (
    <>
      {known.queue && <QueuePart known={known} queue={known.queue} at={at} />}
      {known.host && <ClockPart clock={known.host} at={at} />}
      {known.delays.length > 0 && <DelaysPart delays={known.delays} />}
      {known.host_rule && <RulePart rule={known.host_rule} at={at} />}
    </>
  );
}

type Of<Name extends keyof Explanation> = NonNullable<Explanation[Name]>;

function QueuePart({ known: { held_by, row }, queue, at }: { known: Explanation; queue: Of<"queue">; at: number }) {
  const worker = held_by ? `worker ${held_by.id} (${held_by.name}, pid ${held_by.pid})` : "";
  return (
    <Part title="Queue">
      <Facts>
        <Fact name="host">
          <Link to={`/hosts/${encodeURIComponent(queue.host)}`} className="link font-mono break-all">
            {queue.host}
          </Link>
        </Fact>
        <Fact name="open">{`${queue.open_more ? "at least " : ""}${many(queue.open, "URL")} of this crawl`}</Fact>
        <Fact name="asked for">{many(queue.fetched, "request")}</Fact>
        <Fact name="due">{queue.due_in_ms !== null && <Countdown restMs={queue.due_in_ms} at={at} />}</Fact>
        <Fact name="this URL again">
          {row !== null && row.not_before_in_ms > 0 && <Countdown restMs={row.not_before_in_ms} at={at} />}
        </Fact>
        <Fact name="held by">{worker || (queue.held_by !== null ? `worker ${queue.held_by}` : "nobody")}</Fact>
        <Fact name="given up">{queue.dead}</Fact>
      </Facts>
    </Part>
  );
}

function ClockPart({ clock, at }: { clock: Of<"host">; at: number }) {
  const { pace } = clock;
  return (
    <Part title="Clock of the host" note="over all crawls">
      <Facts>
        <Fact name="next request">
          <Countdown restMs={clock.next_in_ms} at={at} />
        </Fact>
        <Fact name="rests because">{clock.rest_reason}</Fact>
        <Fact name="delay">{duration(clock.delay_ms)}</Fact>
        <Fact name="requests">{count(clock.requests)}</Fact>
        <Fact name="latency">{pace.latency_ms !== null && duration(pace.latency_ms)}</Fact>
        <Fact name="slowed down">{pace.slowdown > 1 && `${pace.slowdown.toFixed(1)} times`}</Fact>
        <Fact name="errors in a row">{pace.errors > 0 && count(pace.errors)}</Fact>
        <Fact name="strikes">{pace.strikes > 0 && count(pace.strikes)}</Fact>
        <Fact name="addresses">
          {clock.addresses && <span className="font-mono break-all">{clock.addresses}</span>}
        </Fact>
        <Fact name="by way of">{clock.cnames && <span className="font-mono break-all">{clock.cnames}</span>}</Fact>
      </Facts>
    </Part>
  );
}

/** The longest comes first, and it is the delay. */
function DelaysPart({ delays }: { delays: Explanation["delays"] }) {
  return (
    <Part title="Parts of the delay" note="the longest decides">
      <Facts>
        {delays.map(([name, ms], at) => (
          <Fact key={name} name={words(name)}>
            <span className="tabular-nums">{duration(ms)}</span>
            {at === 0 && <span className="font-medium"> decides</span>}
          </Fact>
        ))}
      </Facts>
    </Part>
  );
}

function RulePart({ rule, at }: { rule: Of<"host_rule">; at: number }) {
  return (
    <Part title="Rule of an operator for this host">
      <Facts>
        <Fact name="delay">{rule.delay_ms !== null && `at least ${duration(rule.delay_ms)}`}</Fact>
        <Fact name="blocked, ends">{!!rule.blocked_in_ms && <Countdown restMs={rule.blocked_in_ms} at={at} />}</Fact>
        <Fact name="reason">{rule.reason}</Fact>
        <Fact name="by">{rule.created_by}</Fact>
        <Fact name="since">
          <Moment at={rule.created_at} />
        </Fact>
      </Facts>
    </Part>
  );
}
