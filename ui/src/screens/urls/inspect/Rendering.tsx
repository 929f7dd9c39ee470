import { api } from "../../../api/client";
import type { UrlDetail } from "../../../api/types";
import { Button } from "../../../look/Button";
import { Empty, Loading } from "../../../look/States";
import { mayBeHtml, shortType } from "../safe";
import { ArchiveFailure, NotArchived } from "./archived";

export function Rendering({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  if (!detail.archive_file) return <NotArchived detail={detail} />;
  if (!mayBeHtml(detail.content_type)) {
    return (
      <Empty title="It is no HTML page.">
        <p>
          Its type is <bdi className="font-mono">{shortType(detail.content_type)}</bdi>. “Source” shows its text, if it
          is any, and saves its bytes.
        </p>
      </Empty>
    );
  }
  return <Frame key={detail.id} crawl={crawl} id={detail.id} />;
}

/** A ticket is good for one minute and one page: it is asked for when it is needed and never again by itself. */
function Frame({ crawl, id }: { crawl: string; id: number }) {
  const { data, error, refetch, isFetching, dataUpdatedAt } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/urls/{url_id}/page/ticket",
    { params: { path: { crawl, url_id: id } } },
    { staleTime: "static", gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  );
  if (!data) return error ? <ArchiveFailure error={error} retry={refetch} /> : <Loading what="the page" />;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-dim">
          As archived, without scripts, forms and network: nothing outside of the page is loaded.
        </p>
        <Button busy={isFetching} onClick={() => refetch()}>
          Load again
        </Button>
      </div>
      <iframe
        key={dataUpdatedAt}
        title="The archived page"
        src={data.path}
        sandbox=""
        referrerPolicy="no-referrer"
        // Pages take it for granted that they stand on white.
        style={{ background: "#fff", colorScheme: "light" }}
        className="h-[70dvh] w-full rounded border border-line"
      />
    </div>
  );
}
