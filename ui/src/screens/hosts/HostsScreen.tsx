import { keepPreviousData } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { Page } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { many } from "../../words/format";
import { HostsTable } from "./HostsTable";
import { Pager } from "./Pager";
import { TextFilter } from "./TextFilter";

const LIMIT = 100;

/** The politeness clock of every host, over all crawls. */
export function HostsScreen() {
  const [search] = useSearchParams();
  const query = { text: search.get("text") || undefined, after: search.get("after") || undefined, limit: LIMIT };
  const { data, error, refetch, dataUpdatedAt } = api.useQuery(
    "get",
    "/api/v1/hosts",
    { params: { query } },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  return (
    <Page title="Hosts" json={`/api/v1/hosts${search.size ? `?${jsonQuery(search)}` : ""}`}>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <TextFilter label="Part of a host's name" placeholder="part of a name" />
        {data && <span className="text-dim">{many(data.hosts.length, "host")} on this page</span>}
      </div>
      {!data && !error && <Loading what="hosts" />}
      {!data && error && <Failure error={error} what="The hosts cannot be read" retry={refetch} />}
      {data && data.hosts.length > 0 && <HostsTable hosts={data.hosts} readAt={dataUpdatedAt} />}
      {data && data.hosts.length === 0 && <NoHosts text={query.text} more={Boolean(data.next)} />}
      {data && <Pager next={data.next} nextText={data.hosts.length < LIMIT ? "Search on" : "Next page"} />}
    </Page>
  );
}

function jsonQuery(search: URLSearchParams): string {
  const known = [...search].filter(([name]) => name === "text" || name === "after");
  return new URLSearchParams(known).toString();
}

function NoHosts({ text, more }: { text: string | undefined; more: boolean }) {
  if (text && more) return <Empty title={`No host in this part has “${text}” in its name. There is more to search.`} />;
  if (text) {
    return (
      <Empty title={`No host has “${text}” in its name.`}>
        <p>Only hosts that were asked at least once are here: clear the filter, or type less of the name.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No host was asked for anything yet.">
      <p>
        Start a crawl: every host that it asks appears here. On the command line:{" "}
        <code className="font-mono">nephila crawl https://example.com/</code>
      </p>
    </Empty>
  );
}
