import { asProblem } from "../../../api/problem";
import type { UrlRow } from "../../../api/types";
import { Loading } from "../../../look/States";
import { many } from "../../../words/format";
import { isOver } from "../../../words/states";
import { useCrawl, useInspected } from "../../crawl/context";
import { useHidden } from "./ColumnMenu";
import { type View, visible } from "./columns";
import { Filters } from "./Filters";
import { GoOn, NoRows, Refused } from "./Outcome";
import { Pager } from "./Pager";
import { changed, type Filter, type UrlsQuery } from "./query";
import { Toolbar } from "./Toolbar";
import { UrlTable } from "./UrlTable";
import { useOpening, useQueryInAddress } from "./useAddress";
import { useLookedAt, useSteady } from "./useSteady";
import { useUrlPage } from "./useUrlPage";

interface Props {
  view: View;
  title: string;
  states?: UrlsQuery["states"]; // the only ones of this view
  tabOf?: (row: UrlRow) => string;
}

export function Listing({ view, title, states, tabOf }: Props) {
  const { id, detail, live } = useCrawl();
  const [query, go] = useQueryInAddress(states);
  const state = live.progress?.state ?? detail.status;
  const page = useUrlPage(id, query, !isOver(state));
  const { lookedAt, box } = useLookedAt();
  const { rows, waiting, show } = useSteady(page.key, page.rows, page.old, lookedAt);
  const [hidden, toggle] = useHidden(view);
  const [inspected] = useInspected();
  const { open, follow } = useOpening(inspected, tabOf);
  const filter = (change: Partial<Filter>, typed = false) => go(changed(query, change), typed);
  // What was read stays; that the server is away is said above all screens.
  const problem = page.error && !rows.length ? asProblem(page.error) : null;
  const waits = page.pending || page.searching;
  const shown = !problem && (rows.length > 0 || waits);
  return (
    <section aria-labelledby="list-title" className="flex min-w-0 flex-col gap-2 p-4">
      <h2 id="list-title" className="sr-only">
        {title}
      </h2>
      <Filters
        filter={query}
        counts={live.progress?.states ?? detail.states}
        plain={states !== undefined}
        wrong={problem?.field}
        onChange={filter}
      />
      {/* The button for new rows is part of what is looked at: on the way to it they must not come by themselves. */}
      <div {...box} className="flex min-w-0 flex-col gap-2">
        <Toolbar
          crawl={id}
          view={view}
          query={query}
          hidden={hidden}
          waiting={waiting}
          busy={page.old || page.searching}
          onToggle={toggle}
          onShow={show}
          onOrder={(sorted) => go(changed(query, sorted))}
        />
        {problem && <Refused problem={problem} query={query} onGo={go} again={page.again} />}
        {shown && (
          <div
            aria-busy={page.old}
            className="max-h-[max(20rem,calc(100dvh-17rem))] overflow-auto rounded border border-line"
          >
            <UrlTable
              caption={`${title} of crawl ${id}, ${many(rows.length, "row")}; Enter opens one`}
              columns={visible(view, hidden, inspected !== null)}
              rows={rows}
              inspected={inspected}
              sorted={query}
              onSort={(sorted) => go(changed(query, sorted))}
              onOpen={open}
              onFollow={follow}
            />
            {rows.length === 0 && <Loading what={title} />}
          </div>
        )}
      </div>
      {!problem && <GoOn page={page} found={rows.length} />}
      {!problem && !shown && !page.stopped && <NoRows query={query} own={states} over={isOver(state)} onGo={go} />}
      <Pager query={query} rows={rows.length} next={page.next} onGo={go} />
    </section>
  );
}
