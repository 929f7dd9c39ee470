import { Link, useNavigate } from "react-router";
import type { HostQueue } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { Button } from "../../look/Button";
import { count, duration, words } from "../../words/format";
import { hostPath } from "../hosts/address";
import { Cooldown } from "../hosts/Countdown";
import { accessWords } from "../hosts/delays";
import { RuleWords } from "../hosts/RuleWords";
import { isBlocked } from "../hosts/rules";
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

const NUMBERS = ["Open", "Fetched", "Delay", "Next request", "Held by", "Errors"];

export function HostQueueTable({ hosts, crawl, readAt, onAsk }: Props) {
  return (
    <div className="overflow-x-auto rounded border border-line">
      <table className="grid-table">
        <thead>
          <tr>
            <th scope="col">Host</th>
            {NUMBERS.map((name) => (
              <th key={name} scope="col" className="text-right">
                {name}
              </th>
            ))}
            <th scope="col">State</th>
            <th scope="col">robots.txt</th>
            {onAsk && <th scope="col">Actions</th>}
          </tr>
        </thead>
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
  const { queue, clock, robots_version, robots_access } = host;
  const next = nextInMs(host);
  const path = hostPath(queue.host);
  return (
    <tr
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.target === event.currentTarget) navigate(path);
      }}
    >
      <td className="max-w-80">
        <Link to={path} title={queue.host} className="link block truncate font-mono">
          {queue.host}
        </Link>
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
        {accessWords(robots_access)}
        {robots_version !== null && <span className="text-dim"> v{robots_version}</span>}
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
