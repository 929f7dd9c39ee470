import { api, LIVE_MS } from "../../api/client";
import { rate } from "../../words/format";
import { endOf, LIVE_ROWS_MAX } from "./list";

interface Props {
  crawl: number;
  live: boolean;
  running: boolean;
}

/** Rate and end of one running crawl: the list has neither, so each row asks for its own. */
export function PaceCells({ crawl, live, running }: Props) {
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
    <>
      <td className="number" title={unasked}>
        <span className="inline-block w-14">{running && live ? rate(data?.rate) : running ? "…" : ""}</span>
      </td>
      <td title={end?.why || unasked}>
        <span className="inline-block w-24 whitespace-nowrap">{running ? (end?.text ?? (live ? "–" : "…")) : ""}</span>
      </td>
    </>
  );
}
