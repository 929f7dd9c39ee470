import type { Statistics } from "../../api/types";
import { Failure, Loading } from "../../look/States";
import { words } from "../../words/format";
import { BarTable } from "./BarTable";

interface Props {
  crawl: string;
  statistics: Statistics | undefined;
  error: unknown;
  again: () => void;
}

/** What was found: by depth, type, status, and what was refused. */
export function Breakdowns({ crawl, statistics, error, again }: Props) {
  if (!statistics && error) return <Failure error={error} what="The statistics cannot be read" retry={again} />;
  if (!statistics) return <Loading what="statistics" />;
  const urls = `/crawls/${crawl}/urls`;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,17rem),1fr))] gap-4">
        <BarTable
          title="Depth"
          of="Links from a seed"
          counts={statistics.depths}
          byCount={false}
          limit={10}
          nothing="No URLs yet."
          to={(depth) => `${urls}?depth=${depth}`}
        />
        <BarTable title="Content types" of="Content type" counts={statistics.content_types} nothing="No answers yet." />
        <BarTable
          title="HTTP status"
          of="Status"
          counts={statistics.statuses}
          nothing="No answers yet."
          to={(status) => `${urls}?status=${status}`}
        />
        <BarTable
          title="Refused links"
          of="Why"
          unit="Links"
          counts={statistics.refusals}
          nothing="Every link was taken up."
          say={words}
          to={(reason) => `/crawls/${crawl}/refused?reason=${encodeURIComponent(reason)}`}
        />
      </div>
    </div>
  );
}
