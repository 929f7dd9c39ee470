import { type MouseEvent, useId } from "react";
import { Button } from "../../../look/Button";
import { JsonLink } from "../../../look/Page";
import { count } from "../../../words/format";
import { ColumnMenu } from "./ColumnMenu";
import type { ColumnId, View } from "./columns";
import { ExportMenu } from "./ExportMenu";
import { ORDERS, orderKey, orderOf, type Sorted } from "./orders";
import { apiQuery, placeOf, queryString, type UrlsQuery } from "./query";

interface Props {
  crawl: string;
  view: View;
  query: UrlsQuery;
  hidden: ReadonlySet<ColumnId>;
  waiting: number; // new rows that are not shown yet
  busy: boolean;
  onToggle: (column: ColumnId) => void;
  onShow: () => void;
  onOrder: (sorted: Sorted) => void;
}

/** Shows the new rows. The button disappears, so the focus of the keyboard moves to the first row. */
function shown(event: MouseEvent, show: () => void): void {
  show();
  if (event.detail) return; // by pointer
  const box = event.currentTarget.closest("section");
  requestAnimationFrame(() => box?.querySelector<HTMLElement>("tr[tabindex]")?.focus());
}

/** Keeps its height whether rows wait or not, so that the table below never moves. */
export function Toolbar({ crawl, view, query, hidden, waiting, busy, onToggle, onShow, onOrder }: Props) {
  const json = `/api/v1/crawls/${encodeURIComponent(crawl)}/urls?${queryString({ ...apiQuery(query, placeOf(query)) })}`;
  return (
    <div className="flex min-h-8 flex-wrap items-center gap-2">
      <OrderChoice sorted={query} onOrder={onOrder} />
      {waiting > 0 && (
        <Button kind="primary" onClick={(event) => shown(event, onShow)}>
          {count(waiting)} new
        </Button>
      )}
      <span role="status" className="text-dim">
        {busy ? "searching" : ""}
      </span>
      <div className="ml-auto flex flex-wrap items-center gap-2">
        <ColumnMenu view={view} hidden={hidden} onToggle={onToggle} />
        <ExportMenu crawl={crawl} filter={query} />
        <JsonLink path={json} />
      </div>
    </div>
  );
}

function OrderChoice({ sorted, onOrder }: { sorted: Sorted; onOrder: (sorted: Sorted) => void }) {
  const id = useId();
  return (
    <div className="flex items-center gap-2">
      <label htmlFor={id} className="text-dim">
        Order
      </label>
      <select
        id={id}
        className="input w-auto"
        value={orderKey(sorted)}
        onChange={(event) => onOrder(orderOf(event.target.value))}
      >
        {ORDERS.map((choice) => (
          <option key={orderKey(choice)} value={orderKey(choice)}>
            {choice.text}
          </option>
        ))}
      </select>
    </div>
  );
}
