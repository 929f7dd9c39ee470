import { useMemo } from "react";
import type { Sample } from "../../api/live";
import type { CrawlDetail, Statistics } from "../../api/types";
import { Chart } from "../../look/Chart";
import { Panel } from "../../look/Panel";
import { count, rate } from "../../words/format";
import { merged } from "./history";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const COMPACT_FROM = 100_000; // longer numbers have no room beside the axis

const number = (value: number) => (value < COMPACT_FROM ? count(value) : compact.format(value));

interface Props {
  detail: CrawlDetail;
  ended: number;
  over: boolean;
  samples: readonly Sample[];
  statistics: Statistics | undefined;
}

function usePoints({ detail, ended, over, samples, statistics }: Props) {
  return useMemo(() => {
    const buckets = statistics?.times.map(({ at, pages }) => ({ at: Date.parse(at), pages })) ?? [];
    const end = over && detail.ended_at ? { at: Date.parse(detail.ended_at), ended } : null;
    const points = merged(samples, buckets, statistics?.bucket_seconds ?? 1, end);
    return {
      times: points.map(({ at }) => at),
      rates: [{ name: "URLs per second", colour: "accent", values: points.map((point) => point.rate) }],
      counts: [
        { name: "ended", colour: "state-visited", values: points.map((point) => point.ended) },
        { name: "queued", colour: "state-queued", values: points.map((point) => point.queued) },
        { name: "failed", colour: "state-failed", values: points.map((point) => point.failed) },
      ],
    };
  }, [samples, statistics, over, detail.ended_at, ended]);
}

/** Rate and counts over time, with one crosshair. What is older than this page comes from the server's buckets. */
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
        <Chart label="URLs ended per second, over time" times={times} lines={rates} format={rate} together="crawl" />
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
