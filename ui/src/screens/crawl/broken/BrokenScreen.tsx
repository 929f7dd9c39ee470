import { keepPreviousData } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../../api/client";
import { JsonLink } from "../../../look/Page";
import { Empty, Failure, Loading } from "../../../look/States";
import { WrongAddress } from "../../../look/WrongAddress";
import { isOver } from "../../../words/states";
import { Pager } from "../../hosts/Pager";
import { pendingWords } from "../../search/sentences";
import { useCrawl } from "../context";
import { stateOf } from "../standing";
import { BrokenTable } from "./BrokenTable";

const AGAIN_MS = 5 * LIVE_MS;
const PAGES = 5; // that are told of each URL; its inspector has all
const NUMBER = /^\d{1,18}$/;

/** The URLs of a crawl that cannot be had, with the pages that link there. */
export function BrokenScreen() {
  const [search] = useSearchParams();
  const after = search.get("after");
  const wrong = after && !NUMBER.test(after) ? [`after: “${after}” is no number of a URL`] : [];
  return (
    <section className="flex min-w-0 flex-col gap-3 p-4">
      <h2 className="sr-only">Broken links</h2>
      {wrong.length > 0 ? <WrongAddress wrong={wrong} /> : <Shown after={Number(after ?? 0)} />}
    </section>
  );
}

function Shown({ after }: { after: number }) {
  const { id, detail, live } = useCrawl();
  const over = isOver(stateOf(detail, live.progress));
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/broken",
    { params: { path: { crawl: id }, query: { after, pages: PAGES } } },
    {
      refetchInterval: ({ state }) => (over && !state.data?.pending_bytes ? false : AGAIN_MS),
      placeholderData: keepPreviousData,
    },
  );
  if (!data) {
    return error ? (
      <Failure error={error} what="The broken links cannot be read" retry={refetch} />
    ) : (
      <Loading what="broken links" />
    );
  }
  const { urls, next, pending_bytes } = data;
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <p className="text-dim">URLs that cannot be had, and the pages that link there.</p>
        <JsonLink path={`/api/v1/crawls/${encodeURIComponent(id)}/broken`} />
      </div>
      {pending_bytes > 0 && (
        <p role="status" className="rounded border border-line-strong p-3">
          Links are still being indexed: {pendingWords(pending_bytes)}. Pages that link here may be missing; they come
          by themselves.
        </p>
      )}
      {urls.length > 0 ? (
        <BrokenTable urls={urls} partly={next !== null || after > 0} />
      ) : (
        <Nothing crawl={id} over={over} first={after === 0} />
      )}
      <Pager next={next === null ? null : String(next)} />
    </>
  );
}

function Nothing({ crawl, over, first }: { crawl: string; over: boolean; first: boolean }) {
  if (!first) return <Empty title="No more URLs are broken." />;
  return (
    <Empty title={over ? "Nothing is broken." : "Nothing is broken so far."}>
      <p>URLs that answer with an error, or not at all, appear here with the pages that link there.</p>
      <p>
        On the command line: <code>nephila report broken {crawl}</code>
      </p>
    </Empty>
  );
}
