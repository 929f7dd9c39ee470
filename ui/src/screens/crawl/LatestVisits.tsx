import { keepPreviousData } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { UrlRow } from "../../api/types";
import { Button } from "../../look/Button";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { UrlText } from "../../look/UrlText";
import { StateWord } from "../../look/Word";
import { bytes, duration } from "../../words/format";
import { InspectRow } from "./InspectRow";
import { newText } from "./latest";
import { useHold } from "./useHold";

const LIMIT = 15;
const NONE: readonly UrlRow[] = [];

/** By time; of a crawl that is too large to sort, the newest among those visited, by their numbers. */
function useLatest(crawl: string, over: boolean) {
  const path = { crawl };
  const every = over ? false : LIVE_MS;
  const byTime = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/urls",
    { params: { path, query: { sort: "fetched_at", order: "desc", limit: LIMIT } } },
    {
      refetchInterval: (query) => (query.state.error ? false : every),
      placeholderData: keepPreviousData,
    },
  );
  const tooLarge = byTime.error !== null && asProblem(byTime.error).status === 422;
  const byId = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/urls",
    { params: { path, query: { state: ["visited"], order: "desc", limit: LIMIT } } },
    { enabled: tooLarge, refetchInterval: every, placeholderData: keepPreviousData },
  );
  const found = tooLarge ? byId : byTime;
  const rows = useMemo(() => found.data?.urls.filter((row) => row.fetched_at !== null) ?? NONE, [found.data]);
  return {
    rows,
    byTime: !tooLarge,
    pending: found.isPending,
    error: found.data ? null : found.error,
    again: found.refetch,
  };
}

export function LatestVisits({ crawl, over }: { crawl: string; over: boolean }) {
  const latest = useLatest(crawl, over);
  const { rows, waiting, show, box } = useHold(latest.rows);
  const all = latest.byTime ? "sort=fetched_at&order=desc" : "state=visited&order=desc";
  const actions = (
    <>
      {waiting > 0 && <Button onClick={show}>{newText(waiting, LIMIT)}</Button>}
      <Link to={`/crawls/${crawl}/urls?${all}`} className="link">
        All
      </Link>
    </>
  );
  return (
    <div {...box} className="min-w-0">
      <Panel title={latest.byTime ? "Latest visits" : "Latest found among visited"} actions={actions} flush>
        {latest.error ? (
          <Failure error={latest.error} what="The latest visits cannot be read" retry={latest.again} />
        ) : latest.pending ? (
          <Loading what="the latest visits" />
        ) : rows.length === 0 ? (
          <p className="p-3 text-dim">{over ? "Nothing was fetched." : "Nothing was fetched yet."}</p>
        ) : (
          <VisitTable rows={rows} />
        )}
      </Panel>
    </div>
  );
}

const COLUMNS: readonly Column[] = [
  { name: "Fetched", plain: true, width: "w-22" },
  { name: "State", plain: true, width: "w-25" },
  { name: "URL", plain: true },
  { name: "Size", number: true, width: "w-18" },
  { name: "Latency", number: true, width: "w-18" },
];

function VisitTable({ rows }: { rows: readonly UrlRow[] }) {
  return (
    <Grid wide className="table-fixed">
      <Head columns={COLUMNS} />
      <tbody>
        {rows.map((row) => (
          <VisitRow key={row.id} row={row} />
        ))}
      </tbody>
    </Grid>
  );
}

function VisitRow({ row }: { row: UrlRow }) {
  return (
    <InspectRow url={row.id}>
      <td className="whitespace-nowrap">
        <Moment at={row.fetched_at} relative />
      </td>
      <td>
        <StateWord state={row.state} />
      </td>
      <td className="main">
        <UrlText url={row.url} />
      </td>
      <td className="number whitespace-nowrap">{bytes(row.bytes)}</td>
      <td className="number whitespace-nowrap">{duration(row.latency_ms)}</td>
    </InspectRow>
  );
}
