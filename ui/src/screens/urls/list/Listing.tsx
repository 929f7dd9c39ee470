import { useEffect, useRef } from "react";
import { useSearchParams } from "react-router";
import { asProblem } from "../../../api/problem";
import type { UrlRow } from "../../../api/types";
import { notice } from "../../../look/Notice";
import { Loading } from "../../../look/States";
import { WrongAddress } from "../../../look/WrongAddress";
import { many } from "../../../words/format";
import { isOver } from "../../../words/states";
import { useCrawl, useInspected } from "../../crawl/context";
import { openAndEnded, standingOf } from "../../crawl/standing";
import { useHidden } from "./ColumnMenu";
import { type View, visible } from "./columns";
import { Filters } from "./Filters";
import { GoOn, NoRows, Refused } from "./Outcome";
import { orderingOfUrls } from "./orders";
import { Pager } from "./Pager";
import { atFirst, changed, type Filter, previousPage, totalOf, type UrlsQuery, wrongIn } from "./query";
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

/** The address is checked first: a word that is none would find nothing, and nobody would know why. */
export function Listing(props: Props) {
  const [search] = useSearchParams();
  const wrong = wrongIn(search);
  if (wrong.length === 0) return <Listed {...props} />;
  return (
    <section aria-labelledby="list-title" className="min-w-0 p-4">
      <h2 id="list-title" className="sr-only">
        {props.title}
      </h2>
      <WrongAddress wrong={wrong} />
    </section>
  );
}

function Listed({ view, title, states, tabOf }: Props) {
  const { id, detail, live } = useCrawl();
  const [query, go] = useQueryInAddress(states);
  const state = live.progress?.state ?? detail.status;
  const { requisites, sitemaps, states: ofPages } = standingOf(detail, live.progress);
  const counts = query.kind === "page" ? ofPages : openAndEnded(query.kind === "sitemap" ? sitemaps : requisites);
  const page = useUrlPage(id, query, !isOver(state));
  const { lookedAt, box } = useLookedAt();
  const { rows, waiting, show } = useSteady(page.key, page.rows, page.old, lookedAt);
  const [hidden, toggle] = useHidden(view);
  const [inspected] = useInspected();
  const { open, follow } = useOpening(inspected, tabOf);
  const goBack = useRef(() => {}); // a page behind the end shows nothing: it leads to the one before it
  goBack.current = () => go(previousPage(query), true);
  const filter = (change: Partial<Filter>, typed = false) => go(changed(query, change), typed);
  // What was read stays; that the server is away is said above all screens.
  const problem = page.error && !rows.length ? asProblem(page.error) : null;
  const waits = page.pending || page.searching;
  const shown = !problem && (rows.length > 0 || waits);
  const beyond = !problem && !shown && !page.stopped && !page.old && !atFirst(query);
  useEffect(() => {
    if (!beyond) return;
    notice("There is nothing more: this is the last page.");
    goBack.current();
  }, [beyond]);
  return (
    <section aria-labelledby="list-title" className="flex min-w-0 flex-col gap-2 p-4">
      <h2 id="list-title" className="sr-only">
        {title}
      </h2>
      <Filters
        filter={query}
        counts={counts}
        kinds={states === undefined && (requisites.urls + sitemaps.urls > 0 || query.kind !== "page")}
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
              ordering={orderingOfUrls(query, page.unsortable, (sorted) => go(changed(query, sorted)))}
              onOpen={open}
              onFollow={follow}
            />
            {rows.length === 0 && <Loading what={title} />}
          </div>
        )}
      </div>
      {!problem && <GoOn page={page} found={rows.length} />}
      {!problem && !shown && !page.stopped && <NoRows query={query} own={states} over={isOver(state)} onGo={go} />}
      <Pager
        query={query}
        rows={rows.length}
        next={page.searching || page.stopped || rows.length === 0 ? null : page.next}
        total={totalOf(query, counts)}
        onGo={go}
      />
    </section>
  );
}
