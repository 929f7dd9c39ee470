import { keepPreviousData } from "@tanstack/react-query";
import { api, LIVE_MS } from "../../api/client";
import type { Overview } from "../../api/types";
import { Moment } from "../../look/Moment";
import { Figure, Figures, Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { GoodWord } from "../../look/Word";
import { bytes, count, duration, percent } from "../../words/format";

export function Sizes() {
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/stats",
    {},
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  if (!data) {
    return error ? (
      <Failure error={error} what="The sizes cannot be shown" retry={refetch} />
    ) : (
      <Loading what="sizes" />
    );
  }
  return (
    <>
      <Stored data={data} />
      <Process data={data} />
    </>
  );
}

function Stored({ data }: { data: Overview }) {
  const { urls, pages, received_bytes, store_bytes, archive_bytes } = data.sizes;
  const crawls = Object.values(data.crawls).reduce((all, part) => all + part, 0);
  return (
    <Panel title="Stored">
      <Figures>
        <Figure name="Crawls" value={count(crawls)} />
        <Figure
          name="URLs"
          value={count(urls)}
          note={urls ? `${bytes(store_bytes / urls)} of store each` : undefined}
        />
        <Figure name="Pages" value={count(pages)} />
        <Figure name="Received" value={bytes(received_bytes)} />
        <Figure name="Store" value={bytes(store_bytes)} />
        <Figure
          name="Archive"
          value={bytes(archive_bytes)}
          note={received_bytes ? `${percent(archive_bytes, received_bytes)} of received` : undefined}
        />
      </Figures>
    </Panel>
  );
}

function Process({ data }: { data: Overview }) {
  const { pid, started_at, cpu_seconds, rss_bytes, local_workers, waiting } = data.process;
  return (
    <Panel title="This server">
      <div className="flex flex-col gap-3">
        <Figures>
          <Figure name="CPU time" value={duration(cpu_seconds * 1000)} />
          <Figure name="Memory, at most" value={bytes(rss_bytes)} />
          <Figure name="Own workers" value={count(local_workers)} />
          <Figure name="Errors, last hour" value={count(data.errors_last_hour)} note="tries, in all crawls" />
        </Figures>
        <p className="text-dim">
          Process <span className="font-mono">{pid}</span>, started <Moment at={started_at} relative />.
        </p>
        <p>
          <GoodWord good={!waiting} yes="The store can be written." no={`Nothing can be stored now: ${waiting}`} />
        </p>
      </div>
    </Panel>
  );
}
