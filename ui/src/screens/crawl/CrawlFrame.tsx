import { keepPreviousData } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { Link, Outlet, useParams } from "react-router";
import { api, queries } from "../../api/client";
import { type Live, useLive } from "../../api/live";
import { asProblem } from "../../api/problem";
import type { CrawlDetail, CrawlState } from "../../api/types";
import { Page } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { Tabs } from "../../look/Tabs";
import { isOver } from "../../words/states";
import { Inspector } from "../urls/Inspector";
import { CrawlHeader } from "./CrawlHeader";
import { type CrawlContext, useInspected } from "./context";
import { stateOf } from "./standing";
import { useLastRead } from "./useLastRead";

// A crawl that is over may be taken up again, one that runs may be killed: no live message tells of either.
const AGAIN_MS = 10_000;
const UNKNOWN = new Set([404, 422]); // no such number; not even one
const DETAIL = ["get", "/api/v1/crawls/{crawl}"];

export function CrawlFrame() {
  const { crawl = "" } = useParams();
  return <Frame key={crawl} id={crawl} />;
}

function Frame({ id }: { id: string }) {
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}",
    { params: { path: { crawl: id } } },
    { refetchInterval: AGAIN_MS, placeholderData: keepPreviousData },
  );
  const live = useLive(id, useRuns(data?.status));
  const state = live.progress?.state;
  useEffect(() => {
    if (state) void queries.invalidateQueries({ queryKey: DETAIL });
  }, [state]);
  useLastRead(id, data && isOver(stateOf(data, live.progress)));

  if (error && UNKNOWN.has(asProblem(error).status)) return <NoCrawl id={id} />;
  if (data) return <Shown id={id} detail={data} live={live} />;
  return (
    <Page title={`Crawl ${id}`} crumbs={[{ to: "/crawls", text: "Crawls" }]}>
      {error ? (
        <Failure error={error} what={`Crawl ${id} cannot be read`} retry={refetch} />
      ) : (
        <Loading what={`crawl ${id}`} />
      )}
    </Page>
  );
}

/** Counts how often a crawl that was over went on: each time its line must be opened anew. */
function useRuns(status: CrawlState | undefined): number {
  const over = status !== undefined && isOver(status);
  const [runs, setRuns] = useState({ over, count: 0 });
  if (over !== runs.over) setRuns({ over, count: over ? runs.count : runs.count + 1 });
  return runs.count;
}

function Shown({ id, detail, live }: { id: string; detail: CrawlDetail; live: Live }) {
  const [inspected, inspect] = useInspected();
  const path = `/crawls/${id}`;
  const context: CrawlContext = { id, detail, live };
  const tabs = [
    { to: path, text: "Overview", end: true },
    { to: `${path}/urls`, text: "URLs" },
    { to: `${path}/graph`, text: "Graph" },
    { to: `${path}/hosts`, text: "Hosts" },
    { to: `${path}/pages`, text: "Pages" },
    { to: `${path}/compare`, text: "Compare" },
    { to: `${path}/refused`, text: "Refused" },
    { to: `${path}/sitemaps`, text: "Sitemaps" },
    { to: `${path}/broken`, text: "Broken links" },
  ];
  return (
    <div className="flex min-w-0 flex-col">
      <CrawlHeader id={id} detail={detail} live={live} />
      <Tabs label={`Views of crawl ${id}`} tabs={tabs} />
      <div className="flex min-w-0 items-start">
        <div className="min-w-0 flex-1">
          <Suspense fallback={<Loading what="the view" />}>
            <Outlet context={context} />
          </Suspense>
        </div>
        {inspected !== null && (
          <div className="fixed inset-0 z-30 overflow-y-auto bg-ground lg:sticky lg:inset-auto lg:top-0 lg:z-auto lg:max-h-dvh lg:min-h-[calc(100dvh-7rem)] lg:w-120 lg:shrink-0 lg:border-l lg:border-line">
            <Inspector crawl={id} url={inspected} onClose={() => inspect(null)} />
          </div>
        )}
      </div>
    </div>
  );
}

function NoCrawl({ id }: { id: string }) {
  return (
    <Page title={`Crawl ${id}`} crumbs={[{ to: "/crawls", text: "Crawls" }]}>
      <Empty title={`There is no crawl ${id} here.`}>
        <p>It may have been deleted, or the address is of another server.</p>
        <Link to="/crawls" className="link">
          All crawls
        </Link>
      </Empty>
    </Page>
  );
}
