import { useInfiniteQuery } from "@tanstack/react-query";
import { client } from "../../../api/client";
import { Problem } from "../../../api/problem";
import type { UrlDetail } from "../../../api/types";
import { Button } from "../../../look/Button";
import { Empty, Failure, Loading } from "../../../look/States";
import { count, many } from "../../../words/format";
import { OPEN } from "../../../words/states";
import { unique } from "../list/rows";
import { listFact } from "./facts";
import { LinkedFrom } from "./LinkedFrom";
import { Chain, Part } from "./Parts";

const LINKS = 100;
const REFUSED_SHOWN = 200;

async function read(crawl: string, url: number, after: number, signal: AbortSignal) {
  const { data } = await client.GET("/api/v1/crawls/{crawl}/urls/{url_id}/links", {
    params: { path: { crawl, url_id: url }, query: { limit: LINKS, ...(after ? { after } : {}) } },
    signal,
  });
  if (!data) throw new Problem(500, "internal", "the server sent nothing");
  return data;
}

/** Links both ways: which pages lead here, and where it leads. */
export function Links({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  return (
    <div className="flex flex-col gap-4">
      <LinkedFrom crawl={crawl} detail={detail} />
      <LinksOut crawl={crawl} detail={detail} />
    </div>
  );
}

/** Where a page leads, inside this crawl; and what of its links was not taken. */
function LinksOut({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  const found = useInfiniteQuery({
    queryKey: ["links", crawl, detail.id, detail.state],
    queryFn: ({ pageParam, signal }) => read(crawl, detail.id, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  if (found.isPending) return <Loading what="links" />;
  if (!found.data) return <Failure error={found.error} what="The links could not be had" retry={found.refetch} />;
  const links = unique(found.data.pages.flatMap((page) => page.links));
  const refused = listFact(detail.facts, "links_refused");
  return (
    <>
      {links.length === 0 && !found.hasNextPage ? (
        <NoLinks detail={detail} refused={refused.length} />
      ) : (
        <Part
          title="Links out"
          note={`${many(links.length, "URL")} of this crawl${found.hasNextPage ? " so far" : ""}`}
        >
          <Chain label="Links out" urls={links} />
          {found.hasNextPage && (
            <Button className="self-start" busy={found.isFetchingNextPage} onClick={() => found.fetchNextPage()}>
              More links
            </Button>
          )}
        </Part>
      )}
      <RefusedLinks links={refused} />
    </>
  );
}

function NoLinks({ detail, refused }: { detail: UrlDetail; refused: number }) {
  const why = OPEN.has(detail.state)
    ? "It has not been read yet: its links appear here as soon as it is."
    : refused
      ? "All of its links were refused: they are below."
      : "Nothing was found in it that leads on.";
  return (
    <Empty title="No links out to URLs of this crawl.">
      <p>{why}</p>
    </Empty>
  );
}

function RefusedLinks({ links }: { links: readonly string[] }) {
  if (!links.length) return null;
  return (
    <Part title="Links that were refused" note={many(links.length, "link")}>
      <ul className="flex flex-col gap-0.5">
        {links.slice(0, REFUSED_SHOWN).map((link, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they never change, and the same may come twice
          <li key={at} className="font-mono break-all text-dim">
            <bdi>{link}</bdi>
          </li>
        ))}
      </ul>
      {links.length > REFUSED_SHOWN && (
        <p className="text-dim">{count(links.length - REFUSED_SHOWN)} more are not shown.</p>
      )}
    </Part>
  );
}
