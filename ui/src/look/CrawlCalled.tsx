import { Link } from "react-router";
import type { Crawl } from "../api/types";
import { moreSeeds } from "../screens/crawls/list";
import { UrlEnds } from "./UrlText";

type Called = Pick<Crawl, "name" | "labels" | "root_url" | "seeds" | "seeds_count">;

/** What tells a crawl from others: its name where it has one, its seed, its labels. What people typed is shown as text. */
export function CrawlCalled({ crawl }: { crawl: Called }) {
  return (
    <div className="flex min-w-0 flex-col">
      {crawl.name && (
        <bdi title={crawl.name} className="truncate font-medium">
          {crawl.name}
        </bdi>
      )}
      <div className={`flex min-w-0 gap-2 ${crawl.name ? "text-dim" : ""}`}>
        <div className="min-w-0">
          <UrlEnds url={crawl.root_url} />
        </div>
        {crawl.seeds_count > 1 && (
          <span className="shrink-0 text-dim" title={crawl.seeds.join("\n")}>
            {moreSeeds(crawl.seeds_count)}
          </span>
        )}
      </div>
      <Labels labels={crawl.labels} />
    </div>
  );
}

/** Each leads to the crawls that have it. */
export function Labels({ labels }: { labels: readonly string[] }) {
  if (labels.length === 0) return null;
  return (
    <ul aria-label="Labels" className="flex min-w-0 flex-wrap gap-1">
      {labels.map((label) => (
        <li key={label} className="min-w-0">
          <Link
            to={`/crawls?${new URLSearchParams({ label })}`}
            title={`crawls with the label ${label}`}
            className="block truncate rounded border border-line bg-panel px-1 font-mono text-dim hover:text-text"
          >
            {label}
          </Link>
        </li>
      ))}
    </ul>
  );
}
