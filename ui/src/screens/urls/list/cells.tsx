import type { ColumnDef } from "@tanstack/react-table";
import type { UrlRow } from "../../../api/types";
import { Moment } from "../../../look/Moment";
import { UrlText } from "../../../look/UrlText";
import { StateWord } from "../../../look/Word";
import { bytes, count, duration } from "../../../words/format";
import { whyLine } from "../reasons";
import { shortType } from "../safe";
import { type ColumnId, NAMES } from "./columns";

/** `largest`: the latency that fills its bar. */
export function columnDefs(columns: readonly ColumnId[], largest: number): ColumnDef<UrlRow>[] {
  return columns.map((id) => ({
    id,
    header: NAMES[id],
    cell: ({ row }) => <Cell column={id} row={row.original} largest={largest} />,
  }));
}

function Cell({ column, row, largest }: { column: ColumnId; row: UrlRow; largest: number }) {
  switch (column) {
    case "state":
      return <StateWord state={row.state} />;
    case "status":
      return row.status ?? <Nothing />;
    case "title":
      return <Cut text={row.title ?? ""} width="max-w-80" />;
    case "url":
      return <UrlText url={row.url} />;
    case "depth":
      return count(row.depth);
    case "type":
      return <Cut text={shortType(row.content_type)} width="max-w-36" full={row.content_type ?? ""} />;
    case "size":
      return row.bytes === null ? <Nothing /> : <span className="whitespace-nowrap">{bytes(row.bytes)}</span>;
    case "latency":
      return <Latency ms={row.latency_ms} largest={largest} />;
    case "fetched":
      return <Moment at={row.fetched_at} relative />;
    case "retries":
      return row.retries ? count(row.retries) : <Nothing />;
    case "reason":
      return <Cut text={whyLine(row)} width="max-w-36" />;
    case "archive":
      return <Cut text={row.archive_file ?? ""} width="max-w-64" mono />;
  }
}

function Nothing() {
  return <span className="text-dim">–</span>;
}

function Cut({
  text,
  width,
  full = text,
  mono = false,
}: {
  text: string;
  width: string;
  full?: string;
  mono?: boolean;
}) {
  if (!text) return <Nothing />;
  return (
    <bdi title={full} className={`block truncate ${width} ${mono ? "font-mono" : ""}`}>
      {text}
    </bdi>
  );
}

function Latency({ ms, largest }: { ms: number | null; largest: number }) {
  if (ms === null) return <Nothing />;
  return (
    <span className="flex items-center gap-2">
      <span className="number w-16 whitespace-nowrap">{duration(ms)}</span>
      <span aria-hidden="true" className="h-1.5 w-10 rounded bg-hover">
        <span
          className="block h-full min-w-px rounded bg-accent"
          style={{ width: `${largest ? (100 * ms) / largest : 0}%` }}
        />
      </span>
    </span>
  );
}
