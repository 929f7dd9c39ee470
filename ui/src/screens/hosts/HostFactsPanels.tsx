import type { ReactNode } from "react";
import { api } from "../../api/client";
import type { HostClock, HostFacts, HostRule } from "../../api/types";
import { Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { Figure, Figures, Panel } from "../../look/Panel";
import { count, duration, words } from "../../words/format";
import { Cooldown } from "./Countdown";
import { delayParts, winner } from "./delays";
import { RuleWords } from "./RuleWords";

const GRID = "grid grid-cols-[repeat(auto-fit,minmax(min(100%,26rem),1fr))] gap-4";

export function HostFactsPanels({ facts, readAt }: { facts: HostFacts; readAt: number }) {
  return (
    <div className={GRID}>
      {facts.clock ? (
        <>
          <ClockPanel clock={facts.clock} readAt={readAt} />
          <DelayPanel clock={facts.clock} />
        </>
      ) : (
        <Panel title="Clock">
          <p className="text-dim">It was not asked for anything yet.</p>
        </Panel>
      )}
      <RulePanel rule={facts.rule} readAt={readAt} />
      {facts.clock && <AddressPanel clock={facts.clock} />}
    </div>
  );
}

function ClockPanel({ clock, readAt }: { clock: HostClock; readAt: number }) {
  const { pace } = clock;
  return (
    <Panel title="Clock">
      <div className="mb-3 flex flex-wrap items-center gap-3 border-b border-line pb-3">
        <span className="text-dim">Next request</span>
        <Cooldown nextInMs={clock.next_in_ms} delayMs={clock.delay_ms} readAt={readAt} />
        {clock.rest_reason && <span className="text-warn">rests: {words(clock.rest_reason)}</span>}
      </div>
      <Figures>
        <Figure name="Delay" value={duration(clock.delay_ms)} />
        <Figure name="Requests" value={count(clock.requests)} />
        <Figure name="Latency" value={duration(pace.latency_ms)} />
        <Figure name="Slowdown" value={pace.slowdown > 1 ? `× ${pace.slowdown.toFixed(2)}` : "none"} />
        <Figure name="Errors in a row" value={count(pace.errors)} />
        <Figure name="Strikes" value={count(pace.strikes)} />
        {pace.nxdomain > 0 && <Figure name="Name not found" value={count(pace.nxdomain)} note="look-ups in a row" />}
      </Figures>
    </Panel>
  );
}

/** delay = the longest of its parts, times the slowdown. */
function DelayPanel({ clock }: { clock: HostClock }) {
  const floor = api.useQuery("get", "/api/v1/floor", {});
  const parts = delayParts(clock, floor.data?.floor_ms ?? null);
  const winning = winner(parts, clock.delay_ms);
  return (
    <Panel title="How its delay comes about" flush>
      <table className="grid-table">
        <Head columns={[{ name: "Part" }, { name: "At least", number: true }, { name: "Why" }]} />
        <tbody>
          {parts.map(({ name, ms, note }) => (
            <tr key={name}>
              <td className={`whitespace-nowrap ${name === winning ? "font-medium text-accent" : ""}`}>
                {name}
                {name === winning && " (decides)"}
              </td>
              <td className="number whitespace-nowrap">{ms === null ? "–" : duration(ms)}</td>
              <td className="text-dim">{note}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="px-3 py-2">
        The longest holds: <span className="font-mono">{duration(clock.delay_ms)}</span>
        {winning === "" && clock.delay_ms > 0 && ", from the floor of the crawl that asks, or its adaptive part"}.
      </p>
    </Panel>
  );
}

function RulePanel({ rule, readAt }: { rule: HostRule | null; readAt: number }) {
  if (!rule) {
    return (
      <Panel title="Rule">
        <p className="text-dim">No operator has set a rule for it: it is asked at its own pace.</p>
      </Panel>
    );
  }
  return (
    <Panel title="Rule">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <Fact name="Says">
          <RuleWords rule={rule} readAt={readAt} />
        </Fact>
        <Fact name="Why">{rule.reason || <span className="text-dim">no reason was given</span>}</Fact>
        <Fact name="By">{rule.created_by || <span className="text-dim">–</span>}</Fact>
        <Fact name="Since">
          <Moment at={rule.created_at} />
        </Fact>
      </dl>
    </Panel>
  );
}

function AddressPanel({ clock }: { clock: HostClock }) {
  return (
    <Panel title="Addresses">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <Fact name="Addresses">
          <span className="font-mono break-all">{clock.addresses || "–"}</span>
        </Fact>
        <Fact name="Other names">
          <span className="font-mono break-all">{clock.cnames || "–"}</span>
        </Fact>
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-dim">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}
