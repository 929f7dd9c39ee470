import { Link } from "react-router";
import { buttonClass } from "../../look/Button";
import { addressOf, type CrawlsView } from "./list";

/** Links to the next page and to the newest; the way back is the browser's. */
export function Pages({ view, next }: { view: CrawlsView; next: number | null }) {
  if (!view.after && !next) return null;
  return (
    <nav aria-label="Pages of crawls" className="flex gap-2">
      {view.after > 0 && (
        <Link to={addressOf({ ...view, after: 0 })} className={buttonClass()}>
          First page
        </Link>
      )}
      {next && (
        <Link to={addressOf({ ...view, after: next })} className={buttonClass()}>
          Next page
        </Link>
      )}
    </nav>
  );
}
