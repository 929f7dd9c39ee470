import { Link } from "react-router";
import type { CrawlState } from "../../api/types";
import { count } from "../../words/format";
import { CRAWL_COLOURS, sum } from "../../words/states";
import { addressOf, CRAWL_STATES, type CrawlsView } from "./list";

interface Props {
  view: CrawlsView;
  counts: Record<string, number> | undefined;
}

/** The filter of the list: one link per state, so that it can be shared and opened beside. */
export function StatusLinks({ view, counts }: Props) {
  return (
    <nav aria-label="Crawls by state" className="flex flex-wrap gap-1">
      {[null, ...CRAWL_STATES].map((state) => {
        const current = state === view.status;
        return (
          <Link
            key={state ?? "all"}
            to={addressOf({ ...view, status: state, after: 0 })}
            aria-current={current ? "page" : undefined}
            className={`inline-flex items-center gap-1.5 rounded border px-2 py-1 ${
              current ? "border-line-strong bg-hover font-medium" : "border-transparent text-dim hover:bg-hover"
            }`}
          >
            {state && <span aria-hidden className="size-2 rounded-full" style={{ background: CRAWL_COLOURS[state] }} />}
            {state ?? "all"}
            <span className="font-mono tabular-nums">{counted(state, counts)}</span>
          </Link>
        );
      })}
    </nav>
  );
}

function counted(state: CrawlState | null, counts: Props["counts"]): string {
  if (!counts) return "–";
  return count(state ? (counts[state] ?? 0) : sum(counts));
}
