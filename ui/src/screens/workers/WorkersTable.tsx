import { useSearchParams } from "react-router";
import type { Worker } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { CurrentUrls } from "./CurrentUrls";
import { openOf, partitionsOf, toggled } from "./pulse";
import { WorkerRow } from "./WorkerRow";

interface Props {
  workers: readonly Worker[];
  onEnter: () => void;
  onLeave: () => void;
}

const NUMBERS = ["In flight", "Pages", "Cores", "Memory", "Flushes"];
const COLUMNS = NUMBERS.length + 5;

export function WorkersTable({ workers, onEnter, onLeave }: Props) {
  const [search, setSearch] = useSearchParams();
  const open = openOf(search);
  const all = partitionsOf(workers);
  return (
    <table className="grid-table">
      <caption className="sr-only">Workers that live</caption>
      <thead>
        <tr>
          <th scope="col">Worker</th>
          <th scope="col">Heartbeat</th>
          <th scope="col">Started</th>
          <th scope="col" className="min-w-24">
            Partitions
          </th>
          {NUMBERS.map((name) => (
            <th key={name} scope="col" className="number">
              {name}
            </th>
          ))}
          <th scope="col" className="w-full min-w-64">
            Fetching now
          </th>
        </tr>
      </thead>
      <tbody onKeyDown={moveBetweenRows} onPointerEnter={onEnter} onPointerLeave={onLeave}>
        {workers.flatMap((worker) => {
          const opened = open.has(worker.id);
          const toggle = () => setSearch(toggled(search, worker.id), { replace: true });
          const row = <WorkerRow key={worker.id} worker={worker} all={all} open={opened} onToggle={toggle} />;
          return opened ? [row, <CurrentUrls key={`${worker.id}-urls`} worker={worker} columns={COLUMNS} />] : [row];
        })}
      </tbody>
    </table>
  );
}
