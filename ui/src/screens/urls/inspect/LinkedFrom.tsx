import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { client, LIVE_MS } from "../../../api/client";
import { Problem } from "../../../api/problem";
import type { InLink, InLinkPage, UrlDetail } from "../../../api/types";
import { Button } from "../../../look/Button";
import { Failure, Loading } from "../../../look/States";
import { UrlText } from "../../../look/UrlText";
import { manyOrMore } from "../../../words/format";
import { pendingWords } from "../../search/sentences";
import { unique } from "../list/rows";
import { calledOf, LinkWords, PageLink } from "./LinkingPage";
import { Part } from "./Parts";
import { withTab } from "./tabs";

const FIRST = 10; // what it links to is below
const MORE = 50;
const SKIPPED_MAX = 10_000; // the API skips no more
const AGAIN_MS = 2 * LIVE_MS; // while the index lags

const limitAt = (offset: number) => (offset ? MORE : FIRST);

async function read(crawl: string, url: number, offset: number, signal: AbortSignal) {
  const { data } = await client.GET("/api/v1/crawls/{crawl}/urls/{url_id}/in-links", {
    params: { path: { crawl, url_id: url }, query: { limit: limitAt(offset), offset } },
    signal,
  });
  if (!data) throw new Problem(500, "internal", "the server sent nothing");
  return data;
}

/** Where the next pages begin; undefined: there are no more, or the API does not tell them. */
export function offsetAfter({ total, total_exact }: InLinkPage, offset: number): number | undefined {
  const next = offset + limitAt(offset);
  return (next < total || !total_exact) && next <= SKIPPED_MAX ? next : undefined;
}

/** The pages that link to a URL, with the words of their links. */
export function LinkedFrom({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  const found = useInfiniteQuery({
    queryKey: ["in-links", crawl, detail.id],
    queryFn: ({ pageParam, signal }) => read(crawl, detail.id, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last, _pages, offset) => offsetAfter(last, offset),
    refetchInterval: ({ state }) => (state.data?.pages.at(-1)?.pending_bytes ? AGAIN_MS : false),
  });
  const newest = found.data?.pages.at(-1);
  if (!newest) {
    return (
      <Part title="Linked from">
        {found.error ? (
          <Failure error={found.error} what="The pages that link here could not be had" retry={found.refetch} />
        ) : (
          <Loading what="pages that link here" />
        )}
      </Part>
    );
  }
  const links = unique(found.data?.pages.flatMap((page) => page.links) ?? []);
  return (
    <Part
      title="Linked from"
      note={newest.total > 0 ? manyOrMore(newest.total, newest.total_exact, "page") : undefined}
    >
      {links.length > 0 ? <LinkingPages links={links} /> : <NoPages pending={newest.pending_bytes > 0} />}
      {newest.pending_bytes > 0 && (
        <p className="text-dim">Pages may be missing: {pendingWords(newest.pending_bytes)}. They come by themselves.</p>
      )}
      {found.hasNextPage && (
        <Button className="self-start" busy={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
          More pages
        </Button>
      )}
    </Part>
  );
}

function LinkingPages({ links }: { links: readonly InLink[] }) {
  return (
    <ol aria-label="Pages that link here" className="flex flex-col gap-1.5">
      {links.map((link) => (
        <li key={link.id} className="border-l-2 border-line pl-2">
          <PageLink page={link} />
          {calledOf(link) !== link.url && (
            <span className="text-dim">
              <UrlText url={link.url} />
            </span>
          )}
          <LinkWords link={link} />
        </li>
      ))}
    </ol>
  );
}

function NoPages({ pending }: { pending: boolean }) {
  const [search] = useSearchParams();
  if (pending) return <p>No page that links here is indexed yet.</p>;
  return (
    <p className="text-dim">
      No page of this crawl links here. It may be a seed, or a sitemap lists it:{" "}
      <Link to={`?${withTab(search, "why")}`} replace preventScrollReset className="link">
        how it was found
      </Link>
    </p>
  );
}
