import { flexRender, getCoreRowModel, type Row, useReactTable } from "@tanstack/react-table";
import { memo, useCallback, useMemo, useRef } from "react";
import type { UrlRow } from "../../../api/types";
import { onEnter } from "../../../keys/rows";
import { Grid } from "../../../look/Grid";
import { Head } from "../../../look/Head";
import type { Ordering } from "../../../look/ordering";
import { columnDefs } from "./cells";
import { type ColumnId, headOf, NUMBERS } from "./columns";

interface Props {
  caption: string;
  columns: readonly ColumnId[];
  rows: readonly UrlRow[];
  inspected: number | null;
  ordering: Ordering;
  onOpen: (row: UrlRow) => void;
  onFollow: (row: UrlRow) => void; // the arrows went to it while an inspector is open
}

export function UrlTable({ caption, columns, rows, inspected, ordering, onOpen, onFollow }: Props) {
  const largest = Math.max(0, ...rows.map((row) => row.latency_ms ?? 0));
  const names = columns.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: names stands for the columns, which are a new list each time
  const defs = useMemo(() => columnDefs(columns, largest), [names, largest]);
  const table = useReactTable<UrlRow>({
    data: rows as UrlRow[], // it is only read
    columns: defs,
    getRowId: (row) => String(row.id),
    getCoreRowModel: getCoreRowModel(),
    manualSorting: true,
    manualPagination: true,
  });
  const newest = useRef(onOpen); // rows that stay as they are must not keep an old one
  newest.current = onOpen;
  const opened = useCallback((row: UrlRow) => newest.current(row), []);
  const moved = (stop: HTMLElement) => {
    const row = inspected === null ? undefined : rows.find((one) => String(one.id) === stop.dataset.url);
    if (row) onFollow(row);
  };
  return (
    <Grid wide caption={caption} onMove={moved}>
      <Head columns={columns.map(headOf)} ordering={ordering} />
      <tbody>
        {table.getRowModel().rows.map((row) => (
          <BodyRow key={row.id} row={row} defs={defs} open={row.original.id === inspected} onOpen={opened} />
        ))}
      </tbody>
    </Grid>
  );
}

const cellClass = (column: string) => (column === "url" ? "main w-full max-w-0" : NUMBERS.has(column) ? "number" : "");

interface RowProps {
  row: Row<UrlRow>;
  defs: unknown; // other columns are other cells
  open: boolean;
  onOpen: (row: UrlRow) => void;
}

/** A row that is drawn again only when it has changed: most of 200 rows are the same after a read. */
const BodyRow = memo(
  PlainRow,
  (before, after) =>
    before.row.original === after.row.original && before.defs === after.defs && before.open === after.open,
);

function PlainRow({ row, open, onOpen }: RowProps) {
  const clicked = () => {
    // Text was marked to be copied.
    if (!window.getSelection()?.toString()) onOpen(row.original);
  };
  return (
    <tr
      tabIndex={-1}
      data-url={row.original.id}
      aria-current={open || undefined}
      onClick={clicked}
      onKeyDown={onEnter(() => onOpen(row.original))}
      className={`cursor-pointer ${open ? "bg-panel shadow-[inset_3px_0_0_var(--accent)]" : ""}`}
    >
      {row.getVisibleCells().map((cell) => (
        <td key={cell.id} className={cellClass(cell.column.id)}>
          {flexRender(cell.column.columnDef.cell, cell.getContext())}
        </td>
      ))}
    </tr>
  );
}
