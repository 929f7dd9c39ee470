import { useEffect } from "react";
import { Link, useNavigate } from "react-router";
import { Copy } from "../../look/Copy";
import { Empty, Loading } from "../../look/States";
import { addressOf, type CrawlsView, isFiltered } from "./list";
import { NewCrawlLink } from "./NewCrawlLink";

const COMMAND = "nephila crawl https://example.com/";

/** What to do next, which depends on why there is nothing. */
export function NoCrawls({ view, next, may }: { view: CrawlsView; next: number | null; may: boolean }) {
  if (next !== null) return <LookOn view={view} next={next} />;
  if (view.after > 0) {
    return (
      <Empty title="There are no older crawls.">
        <Link to={addressOf({ ...view, after: 0 })} className="link">
          To the newest
        </Link>
      </Empty>
    );
  }
  if (isFiltered(view)) {
    const alone = view.status && !view.text && view.labels.length === 0;
    return (
      <Empty title={alone ? `No crawl is ${view.status} now.` : "No crawl passes these filters."}>
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

/** One look ends after many crawls: where it found nothing, the next begins by itself. */
function LookOn({ view, next }: { view: CrawlsView; next: number }) {
  const navigate = useNavigate();
  const to = addressOf({ ...view, after: next });
  useEffect(() => {
    navigate(to, { replace: true });
  }, [navigate, to]);
  return <Loading what="older crawls" />;
}
