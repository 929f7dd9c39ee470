import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Overview } from "../../api/types";
import { Figure, Figures } from "../../look/Panel";
import { bytes, count, rate } from "../../words/format";

const NONE = "–";

/** The whole installation in one strip. It has its room before the numbers are there. */
export function NowFigures({ stats }: { stats: Overview | undefined }) {
  const running = stats?.crawls.running ?? 0;
  const sizes = stats?.sizes;
  return (
    <section aria-label="Now, over all crawls" className="flex flex-col gap-3">
      {stats?.process.waiting && <Warning>Nothing can be stored now: {stats.process.waiting}</Warning>}
      {stats && running > 0 && stats.workers_alive === 0 && (
        <Warning>
          No worker is alive, so nothing is fetched.{" "}
          <Link to="/workers" className="underline">
            To the workers
          </Link>
        </Warning>
      )}
      <Figures>
        <Figure name="Running crawls" value={stats ? count(running) : NONE} />
        <Figure name="Queued URLs" value={stats ? count(stats.queued) : NONE} />
        <Figure name="Pages" value={rate(stats?.pages_per_s)} />
        <Figure name="Workers alive" value={stats ? alive(stats) : NONE} />
        <Figure name="Errors, last hour" value={stats ? count(stats.errors_last_hour) : NONE} note="tries" />
        <Figure name="Archive" value={bytes(sizes?.archive_bytes)} />
        <Figure name="Store" value={bytes(sizes?.store_bytes)} />
      </Figures>
    </section>
  );
}

function alive({ workers_alive, workers_known }: Overview): string {
  return workers_known > workers_alive ? `${count(workers_alive)} of ${count(workers_known)}` : count(workers_alive);
}

function Warning({ children }: { children: ReactNode }) {
  return (
    <p role="status" className="rounded border border-warn bg-warn-ground px-3 py-1.5 text-warn">
      {children}
    </p>
  );
}
