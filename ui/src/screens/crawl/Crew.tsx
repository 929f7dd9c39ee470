import { Link } from "react-router";
import type { CrawlState, Worker } from "../../api/types";
import { Grid } from "../../look/Grid";
import { Head } from "../../look/Head";
import { Panel } from "../../look/Panel";
import { Loading } from "../../look/States";
import { count, rate } from "../../words/format";

/** The workers that live; each serves all crawls that run. */
export function Crew({ workers, state }: { workers: readonly Worker[] | undefined; state: CrawlState }) {
  const all = (
    <Link to="/workers" className="link">
      All workers
    </Link>
  );
  if (!workers) {
    return (
      <Panel title="Workers" actions={all}>
        <Loading what="workers" />
      </Panel>
    );
  }
  if (workers.length === 0) {
    return (
      <Panel title="Workers" actions={all}>
        <NoCrew needed={state === "running" || state === "ending"} />
      </Panel>
    );
  }
  return (
    <Panel title="Workers" actions={all} flush>
      <Grid>
        <Head columns={[{ name: "Worker" }, { name: "Rate", number: true }, { name: "In flight", number: true }]} />
        <tbody>
          {workers.map((worker) => (
            <tr key={worker.id}>
              <td className="font-mono">{worker.name}</td>
              <td className="number">{rate(worker.vitals.pages_per_s)}</td>
              <td className="number">{count(worker.in_flight)}</td>
            </tr>
          ))}
        </tbody>
      </Grid>
    </Panel>
  );
}

function NoCrew({ needed }: { needed: boolean }) {
  if (!needed) return <p className="text-dim">No worker lives; none is needed now.</p>;
  return (
    <p className="text-warn">
      No worker lives, so nothing moves. Add some under Workers, or run{" "}
      <code className="font-mono">nephila worker</code>.
    </p>
  );
}
