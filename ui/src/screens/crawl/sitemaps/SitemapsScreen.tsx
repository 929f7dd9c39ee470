import { keepPreviousData } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { api } from "../../../api/client";
import { noneOf } from "../../../look/ordering";
import { JsonLink } from "../../../look/Page";
import { Empty, Failure, Loading } from "../../../look/States";
import { WrongAddress } from "../../../look/WrongAddress";
import { isOver } from "../../../words/states";
import { withParameters } from "../../address";
import { Pager } from "../../hosts/Pager";
import { useCrawl } from "../context";
import { stateOf } from "../standing";
import { ListedPages } from "./ListedPages";
import { LISTS, type List, listWords } from "./lists";
import { SitemapTable } from "./SitemapTable";
import { usePages } from "./usePages";

const AGAIN_MS = 10_000;
const NUMBER = /^\d{1,18}$/;

/** The sitemaps of a crawl, and what they and its links disagree about: `?list=unlinked`. */
export function SitemapsScreen() {
  const [search] = useSearchParams();
  const [list, after] = [search.get("list"), search.get("after")];
  const wrong = [
    ...(list && !LISTS.some((known) => known === list) ? [noneOf("list", list, LISTS)] : []),
    ...(after && !NUMBER.test(after) ? [`after: “${after}” is no number of a URL`] : []),
  ];
  return (
    <section className="flex min-w-0 flex-col gap-3 p-4">
      <h2 className="sr-only">Sitemaps</h2>
      {wrong.length > 0 ? (
        <WrongAddress wrong={wrong} />
      ) : (
        <Shown list={LISTS.find((known) => known === list) ?? "sitemaps"} after={Number(after ?? 0)} />
      )}
    </section>
  );
}

function Shown({ list, after }: { list: List; after: number }) {
  const { id, detail, live } = useCrawl();
  const over = isOver(stateOf(detail, live.progress));
  const query = { after: list === "sitemaps" ? after : 0 };
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/sitemaps",
    { params: { path: { crawl: id }, query } },
    { refetchInterval: over ? false : AGAIN_MS, placeholderData: keepPreviousData },
  );
  const any = (data?.sitemaps.length ?? 0) > 0;
  const unlinked = usePages(id, "unlinked", list === "unlinked" ? after : 0, any);
  const unlisted = usePages(id, "unlisted", list === "unlisted" ? after : 0, any);
  if (!data) {
    return error ? (
      <Failure error={error} what="The sitemaps cannot be read" retry={refetch} />
    ) : (
      <Loading what="the sitemaps" />
    );
  }
  const known = Math.max((live.progress ?? detail).sitemaps.urls, data.sitemaps.length);
  const totals = { sitemaps: known, unlinked: unlinked.total, unlisted: unlisted.total };
  const path = `/api/v1/crawls/${encodeURIComponent(id)}/sitemaps${list === "sitemaps" ? "" : `/${list}`}`;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Lists shown={list} totals={totals} />
        <JsonLink path={path} />
      </div>
      {!any ? (
        <NoSitemaps over={over} />
      ) : list === "sitemaps" ? (
        <>
          <SitemapTable sitemaps={data.sitemaps} partly={data.next !== null || after > 0} />
          <Pager next={data.next === null ? null : String(data.next)} />
        </>
      ) : (
        <ListedPages list={list} found={list === "unlinked" ? unlinked : unlisted} sitemaps={data.sitemaps} />
      )}
    </>
  );
}

function Lists({ shown, totals }: { shown: List; totals: Record<List, number | null> }) {
  const [search] = useSearchParams();
  const to = (list: List) => withParameters(search, { list: list === "sitemaps" ? null : list, after: null });
  return (
    <nav aria-label="Lists of sitemaps and pages">
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {LISTS.map((list) => (
          <li key={list}>
            <Link
              to={{ search: to(list).toString() }}
              aria-current={list === shown ? "true" : undefined}
              className={list === shown ? "font-semibold" : "link"}
            >
              {listWords(list, totals[list])}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function NoSitemaps({ over }: { over: boolean }) {
  return (
    <Empty title={over ? "This crawl has met no sitemap." : "This crawl has met no sitemap yet."}>
      <p>
        With <code>sitemaps.mode</code> auto or only, a crawl reads those that robots.txt names, and{" "}
        <code>/sitemap.xml</code> of its seeds. Any other one is given to a new crawl:
      </p>
      <Link to="/crawls/new" className="link">
        New crawl
      </Link>
      <p>
        On the command line:{" "}
        <code className="wrap-anywhere">nephila crawl --sitemap https://example.com/sitemap.xml</code>
      </p>
    </Empty>
  );
}
