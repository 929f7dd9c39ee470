import { keepPreviousData } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { useMay } from "../../api/me";
import { useOrderInAddress } from "../../look/ordering";
import { JsonLink } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { WrongAddress } from "../../look/WrongAddress";
import { isOver } from "../../words/states";
import { LookOn } from "../hosts/LookOn";
import { BY_NAME, type CrawlHostSort, FIRST_IN_CRAWL, jsonOf, queryOf, totalWords } from "../hosts/list";
import { Pager } from "../hosts/Pager";
import { BlockDialog, DelayDialog } from "../hosts/RuleDialogs";
import { TextFilter } from "../hosts/TextFilter";
import { useCrawl } from "./context";
import { type Asked, HostQueueTable } from "./HostQueueTable";
import { stateOf } from "./standing";

/** The hosts of a crawl: their queue here, their clock over all crawls. */
export function CrawlHosts() {
  const { id, detail, live } = useCrawl();
  const [search] = useSearchParams();
  const admin = useMay("admin");
  const [asked, setAsked] = useState<Asked | null>(null);
  const { now, wrong, orderingWith } = useOrderInAddress<CrawlHostSort>(FIRST_IN_CRAWL, BY_NAME);
  const query = queryOf(search, now);
  const over = isOver(stateOf(detail, live.progress));
  const { data, error, refetch, dataUpdatedAt, isPlaceholderData } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/hosts",
    { params: { path: { crawl: id }, query } },
    { refetchInterval: over ? false : LIVE_MS, placeholderData: keepPreviousData, enabled: wrong.length === 0 },
  );
  if (wrong.length > 0 || !data)
    return (
      <Padded>
        {wrong.length > 0 ? (
          <WrongAddress wrong={wrong} />
        ) : error ? (
          <Failure error={error} what="The hosts cannot be read" retry={refetch} />
        ) : (
          <Loading what="hosts" />
        )}
      </Padded>
    );
  const close = () => setAsked(null);
  return (
    <Padded>
      <h2 className="sr-only">Hosts</h2>
      <div className="flex flex-wrap items-center gap-2">
        <TextFilter label="Part of a host's name" placeholder="part of a name" />
        <JsonLink path={jsonOf(`/api/v1/crawls/${encodeURIComponent(id)}/hosts`, query)} />
        <span role="status" className="ml-auto text-dim tabular-nums">
          {totalWords(data.total)}
        </span>
      </div>
      {data.hosts.length > 0 ? (
        <>
          <HostQueueTable
            hosts={data.hosts}
            readAt={dataUpdatedAt}
            crawl={id}
            busy={isPlaceholderData}
            ordering={orderingWith(data.unsortable)}
            onAsk={admin ? setAsked : undefined}
          />
          <Pager next={data.next} />
        </>
      ) : data.next ? (
        <LookOn next={data.next} />
      ) : (
        <NoHosts text={query.text ?? ""} over={over} />
      )}
      {asked?.what === "block" && <BlockDialog host={asked.host} onClose={close} />}
      {asked?.what === "delay" && <DelayDialog host={asked.host} onClose={close} />}
    </Padded>
  );
}

function Padded({ children }: { children: ReactNode }) {
  return <section className="flex min-w-0 flex-col gap-3 p-4">{children}</section>;
}

function NoHosts({ text, over }: { text: string; over: boolean }) {
  if (text) {
    return (
      <Empty title={`No host of this crawl has “${text}” in its name.`}>
        <p>Clear the filter to see all.</p>
      </Empty>
    );
  }
  return (
    <Empty title={over ? "It has no hosts." : "It has no hosts yet."}>
      <p>A host appears with its first URL.</p>
    </Empty>
  );
}
