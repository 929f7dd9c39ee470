import type { Crawl } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { type Column, Head } from "../../look/Head";
import { many } from "../../words/format";
import { CrawlRow } from "./CrawlRow";
import { liveIds } from "./list";
import { useHeld } from "./useHeld";

const COLUMNS: readonly Column[] = [
  { name: "Id", number: true },
  { name: "Root" },
  { name: "State" },
  { name: "URLs ended" },
  { name: "Rate", number: true },
  { name: "Done in" },
  { name: "Started" },
  { name: "Ran", number: true },
  { name: "Received", number: true },
  { name: "Errors", number: true },
  { name: "Actions", hidden: true },
];

interface Props {
  crawls: readonly Crawl[];
  busy: boolean;
  still: boolean; // rows under the pointer stay where they are
  onPurge: ((crawl: Crawl) => void) | null; // null: not allowed
}

/** 64rem: narrower windows scroll the table in its own box. */
export function CrawlTable({ crawls, busy, still, onPurge }: Props) {
  const { rows, waiting, handlers } = useHeld(crawls, still);
  const live = liveIds(crawls);
  return (
    <div className="flex flex-col gap-1">
      <div className="relative min-w-0 overflow-x-auto rounded border border-line">
        <table className="grid-table min-w-[64rem]" aria-busy={busy}>
          <caption className="sr-only">Crawls, the newest first</caption>
          <Head columns={COLUMNS} />
          <tbody onKeyDown={moveBetweenRows} {...handlers}>
            {rows.map(({ row, left }) => (
              <CrawlRow key={row.id} crawl={row} left={left} live={live.has(row.id)} onPurge={onPurge} />
            ))}
          </tbody>
        </table>
      </div>
      <p role="status" className="min-h-5 text-dim">
        {waiting > 0 && `${many(waiting, "new crawl")}: shown when the pointer leaves the table`}
      </p>
    </div>
  );
}
