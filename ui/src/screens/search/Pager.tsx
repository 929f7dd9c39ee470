import { Link, useSearchParams } from "react-router";
import { buttonClass } from "../../look/Button";
import { count } from "../../words/format";
import { nextOffset, PAGE_RESULTS, previousOffset, SKIPPED_MAX, skipping } from "./address";

interface Props {
  offset: number;
  total: number;
  onTurn: () => void;
}

export function Pager({ offset, total, onTurn }: Props) {
  const previous = previousOffset(offset);
  const next = nextOffset(offset, total);
  if (previous === null && next === null) return null;
  const seen = offset + PAGE_RESULTS;
  return (
    <nav aria-label="Pages of results" className="flex flex-wrap items-center gap-2">
      {previous !== null && <Turn to={previous} text="Previous" onTurn={onTurn} />}
      {next !== null && <Turn to={next} text="Next" onTurn={onTurn} />}
      {next === null && seen < total && (
        <span className="text-dim">
          Only the best {count(SKIPPED_MAX + PAGE_RESULTS)} can be looked through: add a word to have others.
        </span>
      )}
    </nav>
  );
}

function Turn({ to, text, onTurn }: { to: number; text: string; onTurn: () => void }) {
  const [search] = useSearchParams();
  return (
    <Link to={{ search: skipping(search, to).toString() }} onClick={onTurn} className={buttonClass()}>
      {text}
    </Link>
  );
}
