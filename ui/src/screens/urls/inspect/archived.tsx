/** The archived answer, read once: it does not change any more. */
import { api } from "../../../api/client";
import { asProblem } from "../../../api/problem";
import type { UrlDetail } from "../../../api/types";
import { Empty, Failure } from "../../../look/States";
import { words } from "../../../words/format";
import { reasonWords } from "../reasons";

const KEPT_MS = 60_000; // a body may have 2 MB

export function useArchived(crawl: string, detail: UrlDetail) {
  return api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/urls/{url_id}/page",
    { params: { path: { crawl, url_id: detail.id } } },
    {
      enabled: detail.archive_file !== null,
      staleTime: "static",
      gcTime: KEPT_MS,
      refetchOnWindowFocus: false,
    },
  );
}

export function NotArchived({ detail }: { detail: UrlDetail }) {
  const open = detail.state === "queued" || detail.state === "in_progress";
  return (
    <Empty title="Nothing is archived of this URL.">
      <p>
        {open
          ? `It is ${words(detail.state)}: its answer appears here as soon as it is there.`
          : `It is ${words(detail.state)}${detail.reason ? `: ${reasonWords(detail.reason)}` : ""}.`}
      </p>
    </Empty>
  );
}

/** A file of the archive may be gone, or lie on another machine: that is no failure of ours to try again. */
export function ArchiveFailure({ error, retry }: { error: unknown; retry: () => void }) {
  const problem = asProblem(error);
  if (problem.status !== 404)
    return <Failure error={error} what="The archived answer could not be read" retry={retry} />;
  return (
    <Empty title="The archived answer cannot be read here.">
      <p>{problem.message}</p>
      {problem.hint && <p>{problem.hint}</p>}
    </Empty>
  );
}
