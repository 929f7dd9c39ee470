import { useSearchParams } from "react-router";
import type { Worker } from "../../api/types";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { type Place, useOwnOrder } from "../../look/ordering";
import { CurrentUrls } from "./CurrentUrls";
import { openOf, partitionsOf, toggled } from "./pulse";
import { WorkerRow } from "./WorkerRow";

interface Props {
  workers: readonly Worker[];
  onEnter: () => void;
  onLeave: () => void;
}

const COLUMNS: readonly Column[] = [
  { name: "Worker", plain: true, sort: "worker" },
  { name: "Heartbeat", plain: true, sort: "seen" },
  { name: "Started", sort: "started" },
  { name: "Partitions", width: "min-w-24", sort: "partitions" },
  { name: "In flight", number: true, sort: "in_flight" },
  { name: "Pages", number: true, sort: "pages" },
  { name: "Cores", number: true, sort: "cores" },
  { name: "Memory", number: true, sort: "memory" },
  { name: "Flushes", number: true, sort: "flushes" },
  { name: "Fetching now", width: "w-full min-w-64", unsorted: "it changes with every request" },
];
const PLACES = {
  worker: ({ id }) => id,
  seen: ({ seen_at }) => seen_at,
  started: ({ started_at }) => started_at,
  partitions: ({ partitions }) => partitions,
  in_flight: ({ in_flight }) => in_flight,
  pages: ({ vitals }) => vitals.pages_per_s,
  cores: ({ vitals }) => vitals.cpu,
  memory: ({ vitals }) => vitals.rss_bytes,
  flushes: ({ flushes }) => flushes,
} satisfies Record<string, Place<Worker>>;

export function WorkersTable({ workers, onEnter, onLeave }: Props) {
  const [search, setSearch] = useSearchParams();
  const open = openOf(search);
  const all = partitionsOf(workers);
  const { rows, ordering } = useOwnOrder(workers, PLACES, null); // all that live are here
  return (
    <Grid wide caption="Workers that live; Enter unfolds what one fetches">
      <Head columns={COLUMNS} ordering={ordering} />
      <tbody onPointerEnter={onEnter} onPointerLeave={onLeave}>
        {rows.flatMap((worker) => {
          const opened = open.has(worker.id);
          const toggle = () => setSearch(toggled(search, worker.id), { replace: true });
          const row = <WorkerRow key={worker.id} worker={worker} all={all} open={opened} onToggle={toggle} />;
          const urls = <CurrentUrls key={`${worker.id}-urls`} worker={worker} columns={COLUMNS.length} />;
          return opened ? [row, urls] : [row];
        })}
      </tbody>
    </Grid>
  );
}
