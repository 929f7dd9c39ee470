import { api, LIVE_MS } from "../../api/client";
import { rate } from "../../words/format";
import { endOf, LIVE_ROWS_MAX } from "./list";

interface Props {
  crawl: number;
  live: boolean;
  running: boolean;
}

/** Rate and end of one running crawl: the list has neither, so each row asks for its own. */
export function PaceCell({ crawl, live, running }: Props) {
  const { data } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/progress",
    { params: { path: { crawl: String(crawl) } } },
    { enabled: live, refetchInterval: LIVE_MS },
  );
  const end = live && data ? endOf(data) : null;
  const unasked =
    running && !live ? `open it to see: only the first ${LIVE_ROWS_MAX} running ones are asked for` : undefined;
  return (
    <td title={end?.why || unasked}>
      {running && (
        <div className="flex w-24 flex-col whitespace-nowrap">
          <span className="font-mono tabular-nums">{live ? rate(data?.rate) : "…"}</span>
          <span className="text-dim">{end?.text ?? (live ? "–" : "…")}</span>
        </div>
      )}
    </td>
  );
}
