import { useEffect } from "react";
import { Link } from "react-router";
import type { Line, Live } from "../../api/live";
import type { CrawlDetail } from "../../api/types";
import { buttonClass } from "../../look/Button";
import { Labels } from "../../look/CrawlCalled";
import { JsonLink } from "../../look/Page";
import { CrawlWord } from "../../look/Word";
import { titleOf } from "../crawls/list";
import { CrawlActions } from "./CrawlActions";
import { stateOf } from "./standing";

interface Props {
  id: string;
  detail: CrawlDetail;
  live: Live;
}

export function CrawlHeader({ id, detail, live }: Props) {
  const title = titleOf(detail);
  useEffect(() => {
    document.title = `${title} · crawl ${detail.id} · Nephila`;
  }, [title, detail.id]);
  const state = stateOf(detail, live.progress);
  const json = `/api/v1/crawls/${encodeURIComponent(id)}`;
  return (
    <header className="flex flex-wrap items-start justify-between gap-2 px-4 pt-4 pb-2">
      <div className="min-w-0">
        <nav aria-label="Breadcrumbs">
          <ol className="flex gap-1.5 text-dim">
            <li className="flex gap-1.5">
              <Link to="/crawls" className="link">
                Crawls
              </Link>
              <span aria-hidden>/</span>
            </li>
            <li className="wrap-anywhere">
              {detail.id}
              {detail.name && `: ${detail.root_url}`}
              {detail.seeds_count > 1 && `, ${detail.seeds_count} seeds`}
            </li>
          </ol>
        </nav>
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <h1 title={title} className="max-w-full truncate text-title font-semibold">
            <bdi>{title}</bdi>
          </h1>
          <CrawlWord state={state} />
          <LineWord line={live.line} />
        </div>
        <Labels labels={detail.labels} />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <Link to={`/search?crawl=${detail.id}`} className={buttonClass()}>
          Search this crawl
        </Link>
        <CrawlActions id={id} detail={detail} state={state} />
        <JsonLink path={json} />
      </div>
    </header>
  );
}

const LINES: Record<Line, string> = {
  connecting: "connecting",
  live: "live",
  reconnecting: "reconnecting",
  over: "over",
  missing: "not found",
  refused: "needs a token",
};

const LINE_TITLES: Partial<Record<Line, string>> = {
  live: "the numbers are told every second",
  over: "nothing changes any more",
  reconnecting: "the line to the server broke; what is shown is as it was, and it is tried again by itself",
};

/** Whether the numbers are of now. */
function LineWord({ line }: { line: Line }) {
  const broken = line === "reconnecting" || line === "refused";
  return (
    <span
      role="status"
      title={LINE_TITLES[line]}
      className={broken ? "rounded border border-warn bg-warn-ground px-1.5 text-warn" : "px-1.5 text-dim"}
    >
      {LINES[line]}
    </span>
  );
}
