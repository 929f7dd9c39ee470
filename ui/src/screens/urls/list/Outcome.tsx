import type { Problem } from "../../../api/problem";
import { Button } from "../../../look/Button";
import { Empty, Failure } from "../../../look/States";
import { many } from "../../../words/format";
import { AS_FOUND } from "./orders";
import { atFirst, changed, FIRST_PAGE, isFiltered, NO_FILTER, type UrlsQuery } from "./query";
import type { UrlPage } from "./useUrlPage";

type Go = (query: UrlsQuery) => void;

/** 422 without a field, of a sorted list: the crawl has too many URLs to be sorted. */
export function refusesSorting(problem: Problem, query: UrlsQuery): boolean {
  return problem.status === 422 && problem.field === null && query.sort !== "id";
}

interface RefusedProps {
  problem: Problem;
  query: UrlsQuery;
  onGo: Go;
  again: () => void;
}

export function Refused({ problem, query, onGo, again }: RefusedProps) {
  if (!refusesSorting(problem, query))
    return <Failure error={problem} what="The list could not be had" retry={again} />;
  return (
    <p
      role="status"
      className="flex flex-wrap items-center gap-2 rounded border border-warn bg-warn-ground px-3 py-2 text-warn"
    >
      This crawl has too many URLs to be sorted.
      <Button onClick={() => onGo(changed(query, AS_FOUND))}>List them as found</Button>
    </p>
  );
}

/** One search looks at a bounded number of URLs; after some it waits for a word. */
export function GoOn({ page, found }: { page: UrlPage; found: number }) {
  if (!page.stopped) return null;
  return (
    <p role="status" className="flex flex-wrap items-center gap-2 rounded border border-line bg-panel px-3 py-2">
      {found
        ? `${many(found, "URL")} found so far; there is more to search.`
        : "Nothing found so far; there is more to search."}
      <Button onClick={page.goOn}>Go on</Button>
    </p>
  );
}

interface NoRowsProps {
  query: UrlsQuery;
  own: UrlsQuery["states"] | undefined; // the states of the view itself, which are no filter of the user
  over: boolean;
  onGo: Go;
}

export function NoRows({ query, own, over, onGo }: NoRowsProps) {
  if (!atFirst(query)) {
    return (
      <Empty title="Nothing more here.">
        <Button onClick={() => onGo({ ...query, ...FIRST_PAGE })}>First page</Button>
      </Empty>
    );
  }
  if (isFiltered(own ? { ...query, states: [] } : query)) {
    return (
      <Empty title={own ? "No page matches these filters." : "No URL matches these filters."}>
        <Button onClick={() => onGo(changed(query, NO_FILTER))}>Clear filters</Button>
      </Empty>
    );
  }
  return (
    <Empty title={own ? "No page has been archived yet." : "This crawl has no URLs yet."}>
      <p>
        {over
          ? "The crawl is over. Its overview says why; a new crawl can be started with other seeds or settings."
          : "They appear here as soon as there are any. If nothing comes, look at the workers: somebody must do the work."}
      </p>
    </Empty>
  );
}
