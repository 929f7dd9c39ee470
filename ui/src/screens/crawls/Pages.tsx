import { Link } from "react-router";
import { buttonClass } from "../../look/Button";
import { addressOf, type Wish } from "./list";

/** Back is the browser's; from any page one step leads to the newest. */
export function Pages({ wish, next }: { wish: Wish; next: number | null }) {
  if (!wish.after && !next) return null;
  return (
    <nav aria-label="Pages of crawls" className="flex gap-2">
      {wish.after > 0 && (
        <Link to={addressOf({ ...wish, after: 0 })} className={buttonClass()}>
          Newest
        </Link>
      )}
      {next && (
        <Link to={addressOf({ ...wish, after: next })} className={buttonClass()}>
          Older
        </Link>
      )}
    </nav>
  );
}
