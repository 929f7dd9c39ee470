import { flexRender, getCoreRowModel, type Row, type Table, useReactTable } from "@tanstack/react-table";
import { type KeyboardEvent, memo, useCallback, useMemo, useRef } from "react";
import type { UrlRow } from "../../../api/types";
import { moveBetweenRows } from "../../../keys/rows";
import { columnDefs } from "./cells";
import { type ColumnId, NUMBERS } from "./columns";
import { afterHeading, ariaSort, isSortable, type Sorted } from "./orders";

interface Props {
  caption: string;
  columns: readonly ColumnId[];
  rows: readonly UrlRow[];
  inspected: number | null;
  sorted: Sorted;
  onSort: (sorted: Sorted) => void;
  onOpen: (row: UrlRow) => void;
  onFollow: (row: UrlRow) => void; // the arrows went to it while an inspector is open
}

export function UrlTable({ caption, columns, rows, inspected, sorted, onSort, onOpen, onFollow }: Props) {
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
  const pressed = (event: KeyboardEvent<HTMLElement>) => {
    moveBetweenRows(event);
    if (inspected === null || !/^(Arrow(Up|Down)|Home|End)$/.test(event.key)) return;
    const id = document.activeElement instanceof HTMLElement ? Number(document.activeElement.dataset.url) : null;
    const row = rows.find((one) => one.id === id);
    if (row) onFollow(row);
  };
  return (
    <table className={`grid-table ${inspected === null ? "min-w-[60rem]" : "min-w-[28rem]"}`}>
      <caption className="sr-only">{caption}</caption>
      <Head table={table} sorted={sorted} onSort={onSort} />
      <tbody onKeyDown={pressed}>
        {table.getRowModel().rows.map((row) => (
          <BodyRow key={row.id} row={row} defs={defs} open={row.original.id === inspected} onOpen={opened} />
        ))}
      </tbody>
    </table>
  );
}

function Head({ table, sorted, onSort }: { table: Table<UrlRow>; sorted: Sorted; onSort: (sorted: Sorted) => void }) {
  return (
    <thead>
      {table.getHeaderGroups().map((group) => (
        <tr key={group.id}>
          {group.headers.map(({ id, column, getContext }) => {
            const text = flexRender(column.columnDef.header, getContext());
            return (
              <th key={id} scope="col" aria-sort={ariaSort(id, sorted)} className={NUMBERS.has(id) ? "text-right" : ""}>
                {isSortable(id) ? (
                  <button type="button" className="hover:text-text" onClick={() => onSort(afterHeading(id, sorted))}>
                    {text} <Arrow towards={ariaSort(id, sorted)} />
                  </button>
                ) : (
                  text
                )}
              </th>
            );
          })}
        </tr>
      ))}
    </thead>
  );
}

function Arrow({ towards }: { towards: "ascending" | "descending" | undefined }) {
  return (
    <svg aria-hidden="true" viewBox="0 0 8 10" className="inline-block w-2 fill-none stroke-current">
      {towards !== "descending" && <path d="M1 4l3-3 3 3" />}
      {towards !== "ascending" && <path d="M1 6l3 3 3-3" />}
    </svg>
  );
}

const cellClass = (column: string) => (column === "url" ? "w-full max-w-0" : NUMBERS.has(column) ? "number" : "");

interface RowProps {
  row: Row<UrlRow>;
  defs: unknown; // other columns are other cells
  open: boolean;
  onOpen: (row: UrlRow) => void;
}

/** Of 200 rows most are the same after a read: only the others are drawn again. */
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
      tabIndex={0}
      data-url={row.original.id}
      aria-current={open || undefined}
      onClick={clicked}
      onKeyDown={(event) => event.key === "Enter" && onOpen(row.original)}
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
