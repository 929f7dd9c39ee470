import { useMemo } from "react";
import type { Sample } from "../../api/live";
import type { CrawlDetail, CrawlHistory } from "../../api/types";
import { Chart } from "../../look/Chart";
import { Panel } from "../../look/Panel";
import { count, rate } from "../../words/format";
import { merged } from "./history";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const COMPACT_FROM = 100_000; // longer numbers have no room beside the axis

const number = (value: number) => (value < COMPACT_FROM ? count(value) : compact.format(value));

interface Props {
  detail: CrawlDetail;
  over: boolean;
  heard: readonly Sample[];
  history: CrawlHistory | undefined;
}

function usePoints({ detail, over, heard, history }: Props) {
  return useMemo(() => {
    const kept = history?.samples.map(({ at, ...counts }) => ({ at: Date.parse(at), ...counts })) ?? [];
    const points = merged(heard, kept, over && detail.ended_at ? Date.parse(detail.ended_at) : null);
    return {
      times: points.map(({ at }) => at),
      rates: [{ name: "Requests per second", colour: "accent", values: points.map((point) => point.rate) }],
      counts: [
        { name: "ended", colour: "state-visited", values: points.map((point) => point.ended) },
        { name: "queued", colour: "state-queued", values: points.map((point) => point.queued) },
        { name: "failed", colour: "state-failed", values: points.map((point) => point.failed) },
      ],
    };
  }, [heard, history, over, detail.ended_at]);
}

/** Rate and counts over time, with one crosshair. What is older than this page comes from the store. */
export function RateCharts(props: Props) {
  const { times, rates, counts } = usePoints(props);
  if (times.length < 2) {
    return (
      <Panel title="Over time">
        <p className="text-dim">
          {props.over ? "It was too short for a chart." : "The charts begin with the first answers."}
        </p>
      </Panel>
    );
  }
  return (
    <>
      <Panel title="Rate">
        <Chart
          label="Requests answered per second, over time"
          times={times}
          lines={rates}
          format={rate}
          together="crawl"
        />
      </Panel>
      <Panel title="URLs">
        <Chart
          label="URLs ended, queued and failed, over time"
          times={times}
          lines={counts}
          format={number}
          together="crawl"
        />
      </Panel>
    </>
  );
}
