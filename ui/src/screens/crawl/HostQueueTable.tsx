import { Link, useNavigate } from "react-router";
import type { HostQueue } from "../../api/types";
import { onEnter } from "../../keys/rows";
import { AtLeast } from "../../look/AtLeast";
import { Button } from "../../look/Button";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import type { Ordering } from "../../look/ordering";
import { count, duration, words } from "../../words/format";
import { hostPath } from "../address";
import { Cooldown } from "../hosts/Countdown";
import { HostLink } from "../hosts/HostLink";
import { RobotsWords } from "../hosts/RobotsWords";
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
  busy: boolean; // these are the rows of the list before
  ordering: Ordering;
  onAsk: ((asked: Asked) => void) | undefined; // undefined: the user may not
}

const COLUMNS: readonly Column[] = [
  { name: "Host", plain: true, sort: "host" },
  { name: "Open", number: true, sort: "open", title: "URLs that wait" },
  { name: "Fetched", number: true, sort: "fetched", title: "requests for its URLs" },
  { name: "Delay", number: true, sort: "delay_ms", title: "between two requests" },
  { name: "Next request", number: true, sort: "next_in_ms" },
  { name: "Held by", number: true, sort: "held_by", title: "the worker that has it in memory" },
  { name: "Errors", number: true, sort: "errors", title: "errors in a row" },
  {
    name: "State",
    plain: true,
    unsorted: "it is made of several facts: sort by open URLs, errors or the next request",
  },
  { name: "robots.txt", unsorted: "a host has one for each of its origins, in a table of their own" },
];
const ACTIONS: Column = { name: "Actions", hidden: true };

export function HostQueueTable({ hosts, crawl, readAt, busy, ordering, onAsk }: Props) {
  return (
    <div className="overflow-x-auto rounded border border-line">
      <Grid wide busy={busy} caption={`Hosts of crawl ${crawl}; Enter opens one`}>
        <Head columns={onAsk ? [...COLUMNS, ACTIONS] : COLUMNS} ordering={ordering} />
        <tbody>
          {hosts.map((host) => (
            <HostQueueRow key={host.queue.host} host={host} crawl={crawl} readAt={readAt} onAsk={onAsk} />
          ))}
        </tbody>
      </Grid>
    </div>
  );
}

function HostQueueRow({
  host,
  crawl,
  readAt,
  onAsk,
}: Omit<Props, "hosts" | "busy" | "ordering"> & { host: HostQueue }) {
  const navigate = useNavigate();
  const { queue, clock } = host;
  const next = nextInMs(host);
  return (
    <tr tabIndex={-1} onKeyDown={onEnter(() => navigate(hostPath(queue.host)))}>
      <td className="main w-full max-w-80 min-w-28">
        <HostLink host={queue.host} />
      </td>
      <td className="number">
        <Link to={`/crawls/${crawl}/urls?${new URLSearchParams({ host: queue.host })}`} className="link">
          <AtLeast number={queue.open} more={queue.open_more} />
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
