import { keepPreviousData } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { useOrderInAddress } from "../../look/ordering";
import { Page } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { WrongAddress } from "../../look/WrongAddress";
import { HostsTable } from "./HostsTable";
import { LookOn } from "./LookOn";
import { BY_NAME, FIRST, type HostSort, jsonOf, queryOf, totalWords } from "./list";
import { Pager } from "./Pager";
import { TextFilter } from "./TextFilter";

/** The politeness clock of every host, over all crawls. */
export function HostsScreen() {
  const [search] = useSearchParams();
  const { now, wrong, orderingWith } = useOrderInAddress<HostSort>(FIRST, BY_NAME);
  const query = queryOf(search, now);
  const { data, error, refetch, dataUpdatedAt, isPlaceholderData } = api.useQuery(
    "get",
    "/api/v1/hosts",
    { params: { query } },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData, enabled: wrong.length === 0 },
  );
  return (
    <Page title="Hosts" json={jsonOf("/api/v1/hosts", query)}>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <TextFilter label="Part of a host's name" placeholder="part of a name" />
        {data && (
          <span role="status" className="text-dim tabular-nums">
            {totalWords(data.total)}
          </span>
        )}
      </div>
      {wrong.length > 0 && <WrongAddress wrong={wrong} />}
      {!wrong.length && !data && !error && <Loading what="hosts" />}
      {!wrong.length && !data && error && <Failure error={error} what="The hosts cannot be read" retry={refetch} />}
      {!wrong.length && data && (
        <>
          {data.hosts.length > 0 && (
            <HostsTable
              hosts={data.hosts}
              readAt={dataUpdatedAt}
              busy={isPlaceholderData}
              ordering={orderingWith(data.unsortable)}
            />
          )}
          {data.hosts.length === 0 && data.next && <LookOn next={data.next} />}
          {data.hosts.length === 0 && !data.next && <NoHosts text={query.text} />}
          {data.hosts.length > 0 && <Pager next={data.next} />}
        </>
      )}
    </Page>
  );
}

function NoHosts({ text }: { text: string | undefined }) {
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
