import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { useMay } from "../../api/me";
import { asProblem } from "../../api/problem";
import type { Crawl } from "../../api/types";
import { orderingOf } from "../../look/ordering";
import { Page } from "../../look/Page";
import { Failure, Loading } from "../../look/States";
import { WrongAddress } from "../../look/WrongAddress";
import { CrawlFilters } from "./CrawlFilters";
import { CrawlTable } from "./CrawlTable";
import { addressOf, FIRST, jsonOf, NEWEST_FIRST, queryOf, viewOf } from "./list";
import { NewCrawlLink } from "./NewCrawlLink";
import { NoCrawls } from "./NoCrawls";
import { NowFigures } from "./NowFigures";
import { Pages } from "./Pages";
import { PurgeCrawl } from "./PurgeCrawl";
import { StatusLinks } from "./StatusLinks";

/** All crawls, the newest first unless the address says otherwise. */
export function CrawlsScreen() {
  const [search] = useSearchParams();
  const { wrong, ...view } = viewOf(search);
  const may = useMay("write");
  const navigate = useNavigate();
  const [purging, setPurging] = useState<Crawl | null>(null);
  const stats = api.useQuery("get", "/api/v1/stats", {}, { refetchInterval: LIVE_MS });
  const list = api.useQuery(
    "get",
    "/api/v1/crawls",
    { params: { query: queryOf(view) } },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData, enabled: wrong.length === 0 },
  );
  const { data, isPlaceholderData } = list;
  const refused = list.error && asProblem(list.error).status === 422 ? asProblem(list.error) : null;
  const ordering = orderingOf(
    view,
    NEWEST_FIRST,
    FIRST,
    (sorted) => navigate(addressOf({ ...view, ...sorted, after: 0 })),
    data?.unsortable,
  );
  return (
    <Page title="Crawls" json={jsonOf(view)} actions={may && <NewCrawlLink />}>
      <NowFigures stats={stats.data} />
      <StatusLinks view={view} counts={stats.data?.crawls} />
      <CrawlFilters view={view} total={data?.total} />
      {wrong.length > 0 || refused ? (
        <WrongAddress wrong={refused ? [`${refused.field ?? "sort"}: ${refused.message}`] : wrong} />
      ) : data && data.crawls.length > 0 ? (
        <CrawlTable
          list={`${addressOf(view)}:${isPlaceholderData}`}
          crawls={data.crawls}
          ordering={ordering}
          busy={isPlaceholderData}
          still={purging === null}
          onPurge={may ? setPurging : null}
        />
      ) : data ? (
        <NoCrawls view={view} next={data.next} may={may} />
      ) : list.error ? (
        <Failure error={list.error} what="The crawls cannot be shown" retry={() => list.refetch()} />
      ) : (
        <Loading what="the crawls" />
      )}
      {data && data.crawls.length > 0 && <Pages view={view} next={data.next} />}
      {purging && <PurgeCrawl crawl={purging} onClose={() => setPurging(null)} />}
    </Page>
  );
}
