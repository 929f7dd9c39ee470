import { useSearchParams } from "react-router";
import type { Worker } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { type Column, Head } from "../../look/Head";
import { CurrentUrls } from "./CurrentUrls";
import { openOf, partitionsOf, toggled } from "./pulse";
import { WorkerRow } from "./WorkerRow";

interface Props {
  workers: readonly Worker[];
  onEnter: () => void;
  onLeave: () => void;
}

const COLUMNS: readonly Column[] = [
  { name: "Worker" },
  { name: "Heartbeat" },
  { name: "Started" },
  { name: "Partitions", width: "min-w-24" },
  { name: "In flight", number: true },
  { name: "Pages", number: true },
  { name: "Cores", number: true },
  { name: "Memory", number: true },
  { name: "Flushes", number: true },
  { name: "Fetching now", width: "w-full min-w-64" },
];

export function WorkersTable({ workers, onEnter, onLeave }: Props) {
  const [search, setSearch] = useSearchParams();
  const open = openOf(search);
  const all = partitionsOf(workers);
  return (
    <table className="grid-table">
      <caption className="sr-only">Workers that live</caption>
      <Head columns={COLUMNS} />
      <tbody onKeyDown={moveBetweenRows} onPointerEnter={onEnter} onPointerLeave={onLeave}>
        {workers.flatMap((worker) => {
          const opened = open.has(worker.id);
          const toggle = () => setSearch(toggled(search, worker.id), { replace: true });
          const row = <WorkerRow key={worker.id} worker={worker} all={all} open={opened} onToggle={toggle} />;
          const urls = <CurrentUrls key={`${worker.id}-urls`} worker={worker} columns={COLUMNS.length} />;
          return opened ? [row, urls] : [row];
        })}
      </tbody>
    </table>
  );
}
