import { useSearchParams } from "react-router";
import type { Worker } from "../../api/types";
import { Button } from "../../look/Button";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { type Place, useOwnOrder } from "../../look/ordering";
import { Panel } from "../../look/Panel";
import { count, duration, many } from "../../words/format";
import { withParameters } from "../address";
import { WorkerName } from "./WorkerRow";

const SHOWN_MAX = 200;
const PARAMETER = "ended";

/** Folded unless the address says otherwise: `?ended=1`. */
export function EndedWorkers({ workers }: { workers: readonly Worker[] }) {
  const [search, setSearch] = useSearchParams();
  const open = search.get(PARAMETER) === "1";
  const toggle = () => setSearch(withParameters(search, { [PARAMETER]: open ? null : "1" }), { replace: true });
  const shown = workers.slice(0, SHOWN_MAX);
  return (
    <Panel
      title={`Ended (${count(workers.length)})`}
      flush
      actions={
        <Button kind="quiet" aria-expanded={open} onClick={toggle}>
          {open ? "Fold" : `Show ${count(workers.length)}`}
        </Button>
      }
    >
      {open && <EndedTable workers={shown} all={shown.length === workers.length} />}
      <p className="p-3 text-dim">
        {open &&
          shown.length < workers.length &&
          `The latest ${count(SHOWN_MAX)} of ${many(workers.length, "worker")}. `}
        {!open && <Latest worker={workers[0]} />}
        {open && "Their hosts and all that was in flight went to others."}
      </p>
    </Panel>
  );
}

function Latest({ worker }: { worker: Worker | undefined }) {
  if (!worker) return null;
  return (
    <>
      The latest was worker {worker.id}, last heard <Moment at={worker.seen_at} relative />.
    </>
  );
}

const COLUMNS: readonly Column[] = [
  { name: "Worker", plain: true, sort: "worker" },
  { name: "Started", sort: "started" },
  { name: "Last heard", sort: "seen" },
  { name: "Lived", number: true, sort: "lived" },
  { name: "Pages", number: true, sort: "pages" },
  { name: "Flushes", number: true, sort: "flushes" },
];
const livedMs = ({ seen_at, started_at }: Worker) => Date.parse(seen_at) - Date.parse(started_at);
const PLACES = {
  worker: ({ id }) => id,
  started: ({ started_at }) => started_at,
  seen: ({ seen_at }) => seen_at,
  lived: livedMs,
  pages: ({ vitals }) => vitals.pages,
  flushes: ({ flushes }) => flushes,
} satisfies Record<string, Place<Worker>>;

function EndedTable({ workers, all }: { workers: readonly Worker[]; all: boolean }) {
  const { rows, ordering } = useOwnOrder(workers, PLACES, null, all ? "" : "only the latest of them are here");
  return (
    <Grid wide caption="Workers that ended">
      <Head columns={COLUMNS} ordering={ordering} />
      <tbody>
        {rows.map((worker) => (
          <tr key={worker.id} tabIndex={-1}>
            <td className="main">
              <WorkerName worker={worker} />
            </td>
            <td>
              <Moment at={worker.started_at} />
            </td>
            <td>
              <Moment at={worker.seen_at} relative />
            </td>
            <td className="number whitespace-nowrap">{duration(livedMs(worker))}</td>
            <td className="number">{count(worker.vitals.pages)}</td>
            <td className="number">{count(worker.flushes)}</td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
