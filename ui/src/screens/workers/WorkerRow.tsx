import type { Worker } from "../../api/types";
import { onEnter } from "../../keys/rows";
import { Meter } from "../../look/Bars";
import { Moment } from "../../look/Moment";
import { UrlText } from "../../look/UrlText";
import { bytes, count, percent, rate } from "../../words/format";
import { PulseMark } from "./PulseMark";
import { cores, keyed } from "./pulse";

const SHOWN = 3;

interface Props {
  worker: Worker;
  all: number; // partitions of all that live
  open: boolean;
  onToggle: () => void;
}

export function WorkerRow({ worker, all, open, onToggle }: Props) {
  const { partitions, vitals } = worker;
  return (
    <tr tabIndex={-1} onKeyDown={onEnter(onToggle)}>
      <td className="main">
        <WorkerName worker={worker} />
      </td>
      <td>
        <PulseMark worker={worker} />
      </td>
      <td>
        <Moment at={worker.started_at} relative />
      </td>
      <td>
        <span className="flex justify-between gap-2 font-mono tabular-nums">
          {count(partitions)}
          <span className="text-dim">{percent(partitions, all)}</span>
        </span>
        <Meter part={partitions} all={all} label={`${count(partitions)} of ${count(all)} partitions`} />
      </td>
      <td className="number">{count(worker.in_flight)}</td>
      <td className="number">{rate(vitals.pages_per_s)}</td>
      <td className="number">{cores(vitals.cpu)}</td>
      <td className="number whitespace-nowrap">{bytes(vitals.rss_bytes)}</td>
      <td className="number">{count(worker.flushes)}</td>
      <td>
        <FirstUrls worker={worker} open={open} onToggle={onToggle} />
      </td>
    </tr>
  );
}

export function WorkerName({ worker }: { worker: Worker }) {
  return (
    <span className="flex flex-col whitespace-nowrap">
      <span className="text-text">
        <span className="font-mono">{worker.id}</span> <bdi>{worker.name}</bdi>
      </span>
      <span className="text-dim">
        pid <span className="font-mono">{worker.pid}</span>, <bdi>{worker.version}</bdi>
      </span>
    </span>
  );
}

/** Always three lines high: what is in flight changes, the rows below must not move by it. */
function FirstUrls({ worker, open, onToggle }: Pick<Props, "worker" | "open" | "onToggle">) {
  const more = worker.in_flight - Math.min(SHOWN, worker.current.length);
  return (
    <div className="flex h-15 w-0 min-w-full items-end gap-2 overflow-hidden">
      <ul className="h-full min-w-0 flex-1">
        {keyed(worker.current.slice(0, SHOWN)).map(({ key, url }) => (
          <li key={key}>
            <UrlText url={url} />
          </li>
        ))}
        {worker.current.length === 0 && <li className="text-dim">nothing</li>}
      </ul>
      {(more > 0 || open) && (
        <button type="button" aria-expanded={open} onClick={onToggle} className="link shrink-0">
          {open ? "fold" : `and ${count(more)} more`}
        </button>
      )}
    </div>
  );
}
