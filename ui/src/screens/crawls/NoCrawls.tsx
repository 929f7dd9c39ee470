import { Link } from "react-router";
import { Copy } from "../../look/Copy";
import { Empty } from "../../look/States";
import { addressOf, type Wish } from "./list";
import { NewCrawlLink } from "./NewCrawlLink";

const COMMAND = "nephila crawl https://example.com/";

/** What to do next, which depends on why there is nothing. */
export function NoCrawls({ wish, may }: { wish: Wish; may: boolean }) {
  if (wish.after > 0) {
    return (
      <Empty title="There are no older crawls.">
        <Link to={addressOf({ ...wish, after: 0 })} className="link">
          To the newest
        </Link>
      </Empty>
    );
  }
  if (wish.status) {
    return (
      <Empty title={`No crawl is ${wish.status} now.`}>
        <Link to="/crawls" className="link">
          All crawls
        </Link>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing was crawled yet.">
      <p>{may ? "Start a crawl here, or in a terminal:" : "Start a crawl in a terminal:"}</p>
      <p className="flex max-w-full flex-wrap items-center gap-1">
        <code className="rounded border border-line bg-panel px-2 py-1 font-mono break-all text-text">{COMMAND}</code>
        <Copy text={COMMAND} />
      </p>
      {may && <NewCrawlLink />}
    </Empty>
  );
}
