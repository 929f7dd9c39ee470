import { Button } from "../../../look/Button";
import { count, many } from "../../../words/format";
import { atFirst, FIRST_PAGE, nextPage, previousPage, type UrlsQuery } from "./query";

interface Props {
  query: UrlsQuery;
  rows: number;
  next: number | null;
  total: number | null; // null: nobody has counted what passes the filter
  onGo: (query: UrlsQuery) => void;
}

/** Previous and next, and how many there are where that is known. */
function where({ sort, after, offset }: UrlsQuery, rows: number, total: number | null): string {
  const all = total === null ? "" : ` of ${many(total, "URL")}`;
  if (sort !== "id" && rows) return `${count(offset + 1)} to ${count(offset + rows)}${all}`;
  return `page ${count(after.length + 1)}, ${all ? `${count(rows)}${all}` : many(rows, "URL")}`;
}

export function Pager({ query, rows, next, total, onGo }: Props) {
  const first = atFirst(query);
  return (
    <nav aria-label="Pages of the list" className="flex flex-wrap items-center gap-2">
      <Button disabled={first} onClick={() => onGo({ ...query, ...FIRST_PAGE })}>
        First
      </Button>
      <Button disabled={first} onClick={() => onGo(previousPage(query))}>
        Previous
      </Button>
      <Button disabled={next === null} onClick={() => next !== null && onGo(nextPage(query, next))}>
        Next
      </Button>
      <span className="text-dim tabular-nums">
        {where(query, rows, total)}
        {next === null && rows > 0 && !first ? ", the last" : ""}
      </span>
    </nav>
  );
}
