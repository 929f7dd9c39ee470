import { useSearchParams } from "react-router";
import type { Worker } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { Button } from "../../look/Button";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
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
      title="Ended"
      flush
      actions={
        <Button kind="quiet" aria-expanded={open} onClick={toggle}>
          {open ? "Fold" : `Show ${count(workers.length)}`}
        </Button>
      }
    >
      {open && <EndedTable workers={shown} />}
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
  { name: "Worker" },
  { name: "Started" },
  { name: "Last heard" },
  { name: "Lived", number: true },
  { name: "Pages", number: true },
  { name: "Flushes", number: true },
];

function EndedTable({ workers }: { workers: readonly Worker[] }) {
  return (
    <table className="grid-table">
      <caption className="sr-only">Workers that ended</caption>
      <Head columns={COLUMNS} />
      <tbody onKeyDown={moveBetweenRows}>
        {workers.map((worker) => (
          <tr key={worker.id} tabIndex={0}>
            <td>
              <WorkerName worker={worker} />
            </td>
            <td>
              <Moment at={worker.started_at} />
            </td>
            <td>
              <Moment at={worker.seen_at} relative />
            </td>
            <td className="number whitespace-nowrap">
              {duration(Date.parse(worker.seen_at) - Date.parse(worker.started_at))}
            </td>
            <td className="number">{count(worker.vitals.pages)}</td>
            <td className="number">{count(worker.flushes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
