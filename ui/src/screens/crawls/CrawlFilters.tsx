import { Link, useSearchParams } from "react-router";
import { many } from "../../words/format";
import { withParameters } from "../address";
import { Typed } from "../urls/list/Typed";
import { ALL_CRAWLS, addressOf, type CrawlsView, isFiltered } from "./list";

const TEXT_CHARS_MAX = 200;

/** Search in names, labels and seeds; the labels that are asked for; and how many crawls there are. */
export function CrawlFilters({ view, total }: { view: CrawlsView; total: number | null | undefined }) {
  const [, setSearch] = useSearchParams();
  const typed = (text: string) =>
    setSearch((before) => withParameters(before, { text: text.trim(), after: null }), { replace: true });
  return (
    <search aria-label="Filters" className="flex flex-wrap items-center gap-2">
      <div className="w-72 max-w-full">
        <Typed label="Name, label or seed" data-filter value={view.text} maxLength={TEXT_CHARS_MAX} onCommit={typed} />
      </div>
      {view.labels.map((label) => (
        <Link
          key={label}
          to={addressOf({ ...view, labels: view.labels.filter((each) => each !== label), after: 0 })}
          aria-label={`without the label ${label}`}
          className="inline-flex max-w-full items-center gap-1 rounded border border-line-strong bg-hover px-2 py-1 font-mono"
        >
          <span className="truncate">{label}</span> <span aria-hidden>×</span>
        </Link>
      ))}
      {isFiltered(view) && (
        <Link to={addressOf({ ...ALL_CRAWLS, sort: view.sort, order: view.order })} className="link">
          Clear filters
        </Link>
      )}
      <span role="status" className="ml-auto text-dim tabular-nums">
        {total != null && many(total, "crawl")}
      </span>
    </search>
  );
}
