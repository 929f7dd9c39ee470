import { Link, useSearchParams } from "react-router";
import { buttonClass } from "../../look/Button";
import { withParameters } from "../address";

/** Pages by `after`: on by a link, back by the browser, and to the beginning. */
export function Pager({ next, nextText = "Next page" }: { next: string | null | undefined; nextText?: string }) {
  const [search] = useSearchParams();
  const after = search.get("after");
  if (!next && !after) return null;
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center gap-2">
      {after && (
        <Link to={{ search: withParameters(search, { after: null }).toString() }} className={buttonClass()}>
          First page
        </Link>
      )}
      {next ? (
        <Link to={{ search: withParameters(search, { after: next }).toString() }} className={buttonClass()}>
          {nextText}
        </Link>
      ) : (
        <span className="text-dim">this is the last page</span>
      )}
    </nav>
  );
}
