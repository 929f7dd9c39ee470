import { Link, useNavigate } from "react-router";
import { moveBetweenRows } from "../../keys/rows";
import { count, duration, words } from "../../words/format";
import { hostPath } from "./address";
import { Cooldown } from "./Countdown";
import { accessWords } from "./delays";
import { RuleWords } from "./RuleWords";
import type { KnownHost } from "./types";

export function HostsTable({ hosts, readAt }: { hosts: readonly KnownHost[]; readAt: number }) {
  return (
    <div className="overflow-x-auto rounded border border-line">
      <table className="grid-table">
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col" className="text-right">
              Next request
            </th>
            <Head title="between two requests">Delay</Head>
            <Head>Requests</Head>
            <Head title="moving average">Latency</Head>
            <Head title="doubles with each 429, decays with each success">Slowdown</Head>
            <Head title="errors in a row">Errors</Head>
            <Head title="steps of the cooldown">Strikes</Head>
            <th scope="col">Rests for</th>
            <th scope="col">robots.txt</th>
            <th scope="col">Rule</th>
          </tr>
        </thead>
        <tbody onKeyDown={moveBetweenRows}>
          {hosts.map((host) => (
            <HostRow key={host.clock.host} host={host} readAt={readAt} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head({ children, title }: { children: string; title?: string }) {
  return (
    <th scope="col" title={title} className="text-right">
      {children}
    </th>
  );
}

function HostRow({
  host: { clock, rule, robots_version, robots_access },
  readAt,
}: {
  host: KnownHost;
  readAt: number;
}) {
  const navigate = useNavigate();
  const { pace } = clock;
  return (
    <tr
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.target === event.currentTarget) navigate(hostPath(clock.host));
      }}
    >
      <td className="max-w-80">
        <Link to={hostPath(clock.host)} title={clock.host} className="link block truncate font-mono">
          {clock.host}
        </Link>
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
        {accessWords(robots_access)}
        {robots_version !== null && <span className="text-dim"> v{robots_version}</span>}
      </td>
      <td className="whitespace-nowrap">
        <RuleWords rule={rule} readAt={readAt} />
      </td>
    </tr>
  );
}
