import { keepPreviousData } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { useMay } from "../../api/me";
import { JsonLink } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { many } from "../../words/format";
import { isOver } from "../../words/states";
import { Pager } from "../hosts/Pager";
import { BlockDialog, DelayDialog } from "../hosts/RuleDialogs";
import { TextFilter } from "../hosts/TextFilter";
import { useCrawl } from "./context";
import { type Asked, HostQueueTable } from "./HostQueueTable";
import { named } from "./queues";
import { stateOf } from "./standing";

const LIMIT = 100;

/** The hosts of a crawl by name: their queue here, their clock over all crawls. */
export function CrawlHosts() {
  const { id, detail, live } = useCrawl();
  const [search] = useSearchParams();
  const admin = useMay("admin");
  const [asked, setAsked] = useState<Asked | null>(null);
  const after = search.get("after") || undefined;
  const text = search.get("text") ?? "";
  const over = isOver(stateOf(detail, live.progress));
  const { data, error, refetch, dataUpdatedAt } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/hosts",
    { params: { path: { crawl: id }, query: { after, limit: LIMIT } } },
    { refetchInterval: over ? false : LIVE_MS, placeholderData: keepPreviousData },
  );
  if (!data && error)
    return (
      <Padded>
        <Failure error={error} what="The hosts cannot be read" retry={refetch} />
      </Padded>
    );
  if (!data)
    return (
      <Padded>
        <Loading what="hosts" />
      </Padded>
    );
  const shown = named(data.hosts, text);
  const close = () => setAsked(null);
  return (
    <Padded>
      <h2 className="sr-only">Hosts</h2>
      <div className="flex flex-wrap items-center gap-2">
        <TextFilter label="Filter the hosts on this page by name" placeholder="filter this page" keepPage />
        <JsonLink path={`/api/v1/crawls/${encodeURIComponent(id)}/hosts`} />
        <span className="ml-auto text-dim">
          {text && `${shown.length} of `}
          {many(data.hosts.length, "host")} on this page
        </span>
      </div>
      {shown.length > 0 ? (
        <HostQueueTable hosts={shown} readAt={dataUpdatedAt} crawl={id} onAsk={admin ? setAsked : undefined} />
      ) : (
        <NoHosts text={text} more={Boolean(data.next)} over={over} />
      )}
      <Pager next={data.next} />
      {asked?.what === "block" && <BlockDialog host={asked.host} onClose={close} />}
      {asked?.what === "delay" && <DelayDialog host={asked.host} onClose={close} />}
    </Padded>
  );
}

function Padded({ children }: { children: ReactNode }) {
  return <section className="flex min-w-0 flex-col gap-3 p-4">{children}</section>;
}

function NoHosts({ text, more, over }: { text: string; more: boolean; over: boolean }) {
  if (text) {
    return (
      <Empty title={`No host on this page has “${text}” in its name.`}>
        <p>{more ? "Only this page is filtered: look at the next one." : "Clear the filter to see all."}</p>
      </Empty>
    );
  }
  return (
    <Empty title={over ? "It has no hosts." : "It has no hosts yet."}>
      <p>A host appears with its first URL.</p>
    </Empty>
  );
}
