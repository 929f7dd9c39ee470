import { Link, useNavigate } from "react-router";
import type { HostQueue } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { Button } from "../../look/Button";
import { type Column, Head } from "../../look/Head";
import { count, duration, words } from "../../words/format";
import { hostPath } from "../hosts/address";
import { Cooldown } from "../hosts/Countdown";
import { HostLink } from "../hosts/HostLink";
import { RobotsWords } from "../hosts/RobotsWords";
import { RuleWords } from "../hosts/RuleWords";
import { isBlocked } from "../hosts/rules";
import { onEnter } from "../onEnter";
import { nextInMs } from "./queues";

export interface Asked {
  what: "block" | "delay";
  host: string;
}

interface Props {
  hosts: readonly HostQueue[];
  crawl: string;
  readAt: number;
  onAsk: ((asked: Asked) => void) | undefined; // undefined: the user may not
}

const COLUMNS: readonly Column[] = [
  { name: "Host" },
  { name: "Open", number: true },
  { name: "Fetched", number: true },
  { name: "Delay", number: true },
  { name: "Next request", number: true },
  { name: "Held by", number: true },
  { name: "Errors", number: true },
  { name: "State" },
  { name: "robots.txt" },
];

export function HostQueueTable({ hosts, crawl, readAt, onAsk }: Props) {
  return (
    <div className="overflow-x-auto rounded border border-line">
      <table className="grid-table">
        <Head columns={onAsk ? [...COLUMNS, { name: "Actions" }] : COLUMNS} />
        <tbody onKeyDown={moveBetweenRows}>
          {hosts.map((host) => (
            <HostQueueRow key={host.queue.host} host={host} crawl={crawl} readAt={readAt} onAsk={onAsk} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function HostQueueRow({ host, crawl, readAt, onAsk }: Omit<Props, "hosts"> & { host: HostQueue }) {
  const navigate = useNavigate();
  const { queue, clock } = host;
  const next = nextInMs(host);
  return (
    <tr tabIndex={0} onKeyDown={onEnter(() => navigate(hostPath(queue.host)))}>
      <td className="max-w-80">
        <HostLink host={queue.host} />
      </td>
      <td className="number">
        <Link to={`/crawls/${crawl}/urls?${new URLSearchParams({ host: queue.host })}`} className="link">
          {count(queue.open)}
        </Link>
      </td>
      <td className="number">{count(queue.fetched)}</td>
      <td className="number whitespace-nowrap">{duration(clock?.delay_ms ?? queue.delay_ms)}</td>
      <td className="number">
        {next === null ? "–" : <Cooldown nextInMs={next} delayMs={clock?.delay_ms ?? queue.delay_ms} readAt={readAt} />}
      </td>
      <td className="number">{queue.held_by === null ? "–" : `worker ${queue.held_by}`}</td>
      <td className={`number ${clock?.pace.errors ? "text-danger" : ""}`}>{count(clock?.pace.errors ?? 0)}</td>
      <td className="max-w-60">
        <HostState host={host} readAt={readAt} />
      </td>
      <td className="whitespace-nowrap">
        <RobotsWords host={host} />
      </td>
      {onAsk && (
        <td className="whitespace-nowrap">
          <AskButton what="block" host={queue.host} onAsk={onAsk} />
          <AskButton what="delay" host={queue.host} onAsk={onAsk} />
        </td>
      )}
    </tr>
  );
}

function HostState({ host: { queue, clock, rule }, readAt }: { host: HostQueue; readAt: number }) {
  if (isBlocked(rule)) return <RuleWords rule={rule} readAt={readAt} />;
  if (queue.dead) return <span className="text-danger">given up: {words(queue.dead)}</span>;
  if (clock?.rest_reason) return <span className="text-warn">rests: {words(clock.rest_reason)}</span>;
  if (queue.held_by !== null) return <>in work</>;
  return <span className="text-dim">{queue.open ? "waits" : "done"}</span>;
}

function AskButton({ what, host, onAsk }: Asked & { onAsk: (asked: Asked) => void }) {
  const text = what === "block" ? "Block" : "Delay";
  return (
    <Button kind="quiet" className="py-0!" aria-label={`${text} ${host}`} onClick={() => onAsk({ what, host })}>
      {text}
    </Button>
  );
}
