import { api, LIVE_MS } from "../../api/client";
import { StateBar, StateLegend } from "../../look/Bars";
import { Figure, Figures } from "../../look/Panel";
import { bytes, count, duration, percent, rate } from "../../words/format";
import { sentence } from "../../words/sentence";
import { isOver } from "../../words/states";
import { Bounds } from "./Bounds";
import { Breakdowns } from "./Breakdowns";
import { Crew } from "./Crew";
import { useCrawl } from "./context";
import { BrokenRequisites, ErrorKinds, RecentErrors } from "./Errors";
import { LatestVisits } from "./LatestVisits";
import { floorOf } from "./needs";
import { OwnSettings } from "./OwnSettings";
import { RateCharts } from "./RateCharts";
import { type Standing, standingOf } from "./standing";

const HISTORY_MS = 15 * LIVE_MS; // it fills only what this page has not heard
const STATISTICS_MS = 5 * LIVE_MS; // counted over rows: it costs the server more than the rest
// By the room there is, not by the window: an open inspector takes some of it.
const PAIR = "grid grid-cols-[repeat(auto-fit,minmax(min(100%,28rem),1fr))] gap-4";

export function CrawlOverview() {
  const { id, detail, live } = useCrawl();
  const standing = standingOf(detail, live.progress);
  const over = isOver(standing.state);
  const statistics = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/stats",
    { params: { path: { crawl: id } } },
    { refetchInterval: over ? false : STATISTICS_MS },
  );
  const history = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/history",
    { params: { path: { crawl: id } } },
    { refetchInterval: over ? false : HISTORY_MS },
  );
  return (
    <div className="flex min-w-0 flex-col gap-4 p-4">
      <p className="text-title wrap-anywhere">{sentence(standing)}</p>
      <Warnings texts={detail.warnings} />
      <Counters standing={standing} />
      <StateBar counts={standing.states} />
      <StateLegend counts={standing.states} />
      <div className={PAIR}>
        <RateCharts detail={detail} over={over} heard={live.history} history={history.data} />
      </div>
      <div className={PAIR}>
        <Bounds
          progress={live.progress}
          floorMs={floorOf(detail.settings)}
          readAt={live.history.at(-1)?.at ?? 0}
          over={over}
        />
        <ErrorKinds crawl={id} errors={standing.errors} />
        {standing.requisites.urls > 0 && <BrokenRequisites crawl={id} errors={standing.requisites.errors} />}
      </div>
      <LatestVisits crawl={id} over={over} />
      <RecentErrors crawl={id} over={over} />
      <Breakdowns crawl={id} statistics={statistics.data} error={statistics.error} again={statistics.refetch} />
      <div className={PAIR}>
        <Crew workers={live.progress?.workers} state={standing.state} />
        <OwnSettings detail={detail} />
      </div>
    </div>
  );
}

/** What its operator should know of its settings: no contact, say. */
function Warnings({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <ul aria-label="Warnings" className="flex flex-col gap-1 text-dim wrap-anywhere">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Counters({ standing }: { standing: Standing }) {
  return (
    <Figures>
      <Figure name="URLs" value={count(standing.total)} />
      <Figure name="Ended" value={count(standing.ended)} note={percent(standing.ended, standing.total)} />
      <Figure name="Queued" value={count(standing.queued)} />
      <Figure name="In progress" value={count(standing.in_progress)} />
      <Figure name="Failed" value={count(standing.failed)} note={percent(standing.failed, standing.ended)} />
      {standing.requisites.urls > 0 && (
        <Figure
          name="Requisites"
          value={count(standing.requisites.urls)}
          note={`${count(standing.requisites.broken)} broken`}
        />
      )}
      {standing.sitemaps.urls > 0 && (
        <Figure
          name="Sitemaps"
          value={count(standing.sitemaps.urls)}
          note={`${count(standing.sitemaps.states.visited ?? 0)} read`}
        />
      )}
      <Figure name="Requests" value={count(standing.requests)} />
      <Figure name="Retries" value={count(standing.retries)} />
      <Figure name="Received" value={bytes(standing.bytes)} />
      <Figure name="Rate" value={rate(standing.rate)} />
      <Figure name="Running time" value={duration(standing.active_ms)} />
    </Figures>
  );
}
