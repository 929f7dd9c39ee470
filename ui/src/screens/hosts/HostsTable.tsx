import { useNavigate } from "react-router";
import { onEnter } from "../../keys/rows";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import type { Ordering } from "../../look/ordering";
import { count, duration, words } from "../../words/format";
import { hostPath } from "../address";
import { Cooldown } from "./Countdown";
import { HostLink } from "./HostLink";
import { RobotsWords } from "./RobotsWords";
import { RuleWords } from "./RuleWords";
import type { KnownHost } from "./types";

const COLUMNS: readonly Column[] = [
  { name: "Host", plain: true, sort: "host" },
  { name: "Next request", number: true, sort: "next_in_ms" },
  { name: "Delay", number: true, title: "between two requests", sort: "delay_ms" },
  { name: "Requests", number: true, sort: "requests" },
  { name: "Latency", number: true, title: "moving average", sort: "latency_ms" },
  { name: "Slowdown", number: true, title: "doubles with each 429, decays with each success", sort: "slowdown" },
  { name: "Errors", number: true, title: "errors in a row", sort: "errors" },
  { name: "Strikes", number: true, title: "steps of the cooldown", sort: "strikes" },
  { name: "Rests for", unsorted: "few hosts rest, and the next request of each says how long: sort by that" },
  { name: "robots.txt", unsorted: "a host has one for each of its origins, in a table of their own" },
  { name: "Rule", unsorted: "operators have few rules, and no index of hosts has them" },
];

interface Props {
  hosts: readonly KnownHost[];
  readAt: number;
  busy: boolean; // these are the rows of the list before
  ordering: Ordering;
}

export function HostsTable({ hosts, readAt, busy, ordering }: Props) {
  return (
    <div className="overflow-x-auto rounded border border-line">
      <Grid wide busy={busy} caption="Hosts of all crawls; Enter opens one">
        <Head columns={COLUMNS} ordering={ordering} />
        <tbody>
          {hosts.map((host) => (
            <HostRow key={host.clock.host} host={host} readAt={readAt} />
          ))}
        </tbody>
      </Grid>
    </div>
  );
}

function HostRow({ host, readAt }: { host: KnownHost; readAt: number }) {
  const navigate = useNavigate();
  const { clock, rule } = host;
  const { pace } = clock;
  return (
    <tr tabIndex={-1} onKeyDown={onEnter(() => navigate(hostPath(clock.host)))}>
      <td className="main w-full max-w-80 min-w-28">
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
