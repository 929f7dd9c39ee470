import { useNavigate } from "react-router";
import { moveBetweenRows } from "../../keys/rows";
import { type Column, Head } from "../../look/Head";
import { count, duration, words } from "../../words/format";
import { onEnter } from "../onEnter";
import { hostPath } from "./address";
import { Cooldown } from "./Countdown";
import { HostLink } from "./HostLink";
import { RobotsWords } from "./RobotsWords";
import { RuleWords } from "./RuleWords";
import type { KnownHost } from "./types";

const COLUMNS: readonly Column[] = [
  { name: "Host" },
  { name: "Next request", number: true },
  { name: "Delay", number: true, title: "between two requests" },
  { name: "Requests", number: true },
  { name: "Latency", number: true, title: "moving average" },
  { name: "Slowdown", number: true, title: "doubles with each 429, decays with each success" },
  { name: "Errors", number: true, title: "errors in a row" },
  { name: "Strikes", number: true, title: "steps of the cooldown" },
  { name: "Rests for" },
  { name: "robots.txt" },
  { name: "Rule" },
];

export function HostsTable({ hosts, readAt }: { hosts: readonly KnownHost[]; readAt: number }) {
  return (
    <div className="overflow-x-auto rounded border border-line">
      <table className="grid-table">
        <Head columns={COLUMNS} />
        <tbody onKeyDown={moveBetweenRows}>
          {hosts.map((host) => (
            <HostRow key={host.clock.host} host={host} readAt={readAt} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function HostRow({ host, readAt }: { host: KnownHost; readAt: number }) {
  const navigate = useNavigate();
  const { clock, rule } = host;
  const { pace } = clock;
  return (
    <tr tabIndex={0} onKeyDown={onEnter(() => navigate(hostPath(clock.host)))}>
      <td className="max-w-80">
        <HostLink host={clock.host} />
      </td>
      <td>
        <Cooldown nextInMs={clock.next_in_ms} delayMs={clock.delay_ms} readAt={readAt} />
      </td>
      <td className="number whitespace-nowrap">{duration(clock.delay_ms)}</td>
      <td className="number">{count(clock.requests)}</td>
      <td className="number whitespace-nowrap">{duration(pace.latency_ms)}</td>
      <td className="number">{pace.slowdown > 1 ? `× ${pace.slowdown.toFixed(1)}` : "–"}</td>
      <td className={`number ${pace.errors ? "text-danger" : ""}`}>{count(pace.errors)}</td>
      <td className="number">{count(pace.strikes)}</td>
      <td className="whitespace-nowrap">{words(clock.rest_reason) || <span className="text-dim">–</span>}</td>
      <td className="whitespace-nowrap">
        <RobotsWords host={host} />
      </td>
      <td className="whitespace-nowrap">
        <RuleWords rule={rule} readAt={readAt} />
      </td>
    </tr>
  );
}
