import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { useMay } from "../../api/me";
import type { Crawl } from "../../api/types";
import { Page } from "../../look/Page";
import { Failure, Loading } from "../../look/States";
import { CrawlTable } from "./CrawlTable";
import { jsonOf, queryOf, wishOf } from "./list";
import { NewCrawlLink } from "./NewCrawlLink";
import { NoCrawls } from "./NoCrawls";
import { NowFigures } from "./NowFigures";
import { Pages } from "./Pages";
import { PurgeCrawl } from "./PurgeCrawl";
import { StatusLinks } from "./StatusLinks";

/** All crawls, the newest first. */
export function CrawlsScreen() {
  const [search] = useSearchParams();
  const wish = wishOf(search);
  const may = useMay("write");
  const [purging, setPurging] = useState<Crawl | null>(null);
  const stats = api.useQuery("get", "/api/v1/stats", {}, { refetchInterval: LIVE_MS });
  const list = api.useQuery(
    "get",
    "/api/v1/crawls",
    { params: { query: queryOf(wish) } },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  const { data, isPlaceholderData } = list;
  return (
    <Page title="Crawls" json={jsonOf(wish)} actions={may && <NewCrawlLink />}>
      <NowFigures stats={stats.data} />
      <StatusLinks chosen={wish.status} counts={stats.data?.crawls} />
      {data && data.crawls.length > 0 ? (
        <CrawlTable
          key={`${wish.status}:${wish.after}:${isPlaceholderData}`}
          crawls={data.crawls}
          busy={isPlaceholderData}
          still={purging === null}
          onPurge={may ? setPurging : null}
        />
      ) : data ? (
        <NoCrawls wish={wish} may={may} />
      ) : list.error ? (
        <Failure error={list.error} what="The crawls cannot be shown" retry={() => list.refetch()} />
      ) : (
        <Loading what="the crawls" />
      )}
      {data && <Pages wish={wish} next={data.next} />}
      {purging && <PurgeCrawl crawl={purging} onClose={() => setPurging(null)} />}
    </Page>
  );
}
