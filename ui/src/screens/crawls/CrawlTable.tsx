import type { Crawl } from "../../api/types";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import type { Ordering } from "../../look/ordering";
import { many } from "../../words/format";
import { CrawlRow } from "./CrawlRow";
import { liveIds } from "./list";
import { useHeld } from "./useHeld";

const COLUMNS: readonly Column[] = [
  { name: "Id", number: true, sort: "id" },
  { name: "Crawl", plain: true, sort: "name", title: "by name; those without one by their seeds" },
  { name: "State", plain: true, sort: "status" },
  { name: "URLs ended", sort: "ended" },
  { name: "Pace", unsorted: "only crawls that run have one, and it changes every second" },
  { name: "Started", sort: "id" },
  { name: "Ran", number: true, sort: "active_ms" },
  { name: "Received", number: true, sort: "bytes" },
  { name: "Errors", number: true, sort: "errors" },
  { name: "Actions", hidden: true },
];

interface Props {
  list: string; // which crawls these are, in which order
  crawls: readonly Crawl[];
  ordering: Ordering;
  busy: boolean;
  still: boolean; // rows under the pointer stay where they are
  onPurge: ((crawl: Crawl) => void) | null; // null: not allowed
}

export function CrawlTable({ list, crawls, ordering, busy, still, onPurge }: Props) {
  const { rows, waiting, handlers } = useHeld(crawls, list, still);
  const live = liveIds(crawls);
  return (
    <div className="flex flex-col gap-1">
      <div className="relative min-w-0 overflow-x-auto rounded border border-line">
        <Grid wide busy={busy} caption="Crawls; Enter opens one">
          <Head columns={COLUMNS} ordering={ordering} />
          <tbody {...handlers}>
            {rows.map(({ row, left }) => (
              <CrawlRow key={row.id} crawl={row} left={left} live={live.has(row.id)} onPurge={onPurge} />
            ))}
          </tbody>
        </Grid>
      </div>
      <p role="status" className="min-h-5 text-dim">
        {waiting > 0 && `${many(waiting, "new crawl")}: shown when the pointer leaves the table`}
      </p>
    </div>
  );
}
