import { keepPreviousData } from "@tanstack/react-query";
import { useRef } from "react";
import { api, LIVE_MS } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { SearchResults } from "../../api/types";
import { Page } from "../../look/Page";
import { Failure, Loading } from "../../look/States";
import { jsonOf, queryOf, type SearchView } from "./address";
import { NoneFound, Pending, Syntax } from "./Outcome";
import { Pager } from "./Pager";
import { Results } from "./Results";
import { SearchForm } from "./SearchForm";
import { rangeWords, wrongField } from "./sentences";
import { type Ask, useSearchView } from "./useSearchView";

const FRESH_MS = 60_000; // Back from a result finds the results as they were

/** Full-text search over what was crawled. */
export function SearchScreen() {
  const { view, ask, submit } = useSearchView();
  const asked = view.q !== "";
  const { data, error, refetch, isPlaceholderData, isFetching } = api.useQuery(
    "get",
    "/api/v1/search",
    { params: { query: queryOf(view) } },
    {
      enabled: asked,
      placeholderData: keepPreviousData,
      staleTime: FRESH_MS,
      refetchOnWindowFocus: false, // results do not move by themselves
      refetchInterval: ({ state }) => (state.data && mayCome(state.data) ? LIVE_MS : false),
    },
  );
  const problem = asked && !data && error ? asProblem(error) : null;
  const wrong = wrongField(problem);
  return (
    <Page title="Search" json={asked ? jsonOf(view) : undefined}>
      <SearchForm question={view} problem={problem} onAsk={ask} onSubmit={(typed) => submit(typed) || refetch()} />
      {(!asked || wrong === "q") && <Syntax />}
      {problem && !wrong && <Failure error={problem} what="The search failed" retry={refetch} />}
      {asked && !data && !problem && <Loading what="results" />}
      {asked && data && (
        <Found view={view} answer={data} old={isPlaceholderData} busy={isFetching} ask={ask} again={refetch} />
      )}
    </Page>
  );
}

/** Whether to ask again: a match may still be indexed, and without results no row can move. */
function mayCome({ results, pending_bytes }: SearchResults): boolean {
  return results.length === 0 && pending_bytes > 0;
}

interface FoundProps {
  view: SearchView;
  answer: SearchResults;
  old: boolean; // of the question before
  busy: boolean;
  ask: Ask;
  again: () => void;
}

function Found({ view, answer, old, busy, ask, again }: FoundProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { results, total, pending_bytes } = answer;
  // The link that was clicked goes or stays below: the reader begins at the top.
  const turned = () => heading.current?.focus();
  return (
    <section aria-labelledby="results-title" className="flex min-w-0 flex-col gap-3">
      <div className="flex min-h-6 flex-wrap items-center gap-x-4">
        <h2 id="results-title" ref={heading} tabIndex={-1} className="sr-only">
          Results
        </h2>
        <p role="status" className="text-dim tabular-nums">
          {old ? "searching" : rangeWords(view.offset, results.length, answer)}
        </p>
        {pending_bytes > 0 && results.length > 0 && !old && <Pending bytes={pending_bytes} busy={busy} again={again} />}
      </div>
      {results.length > 0 && <Results results={results} offset={view.offset} old={old} />}
      {results.length === 0 && !old && <NoneFound view={view} answer={answer} onAsk={ask} />}
      {!old && <Pager offset={view.offset} total={total} onTurn={turned} />}
    </section>
  );
}
