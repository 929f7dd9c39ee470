import { api, queries } from "../../api/client";
import type { Crawl } from "../../api/types";
import { Confirm } from "../../look/Confirm";
import { notice } from "../../look/Notice";
import { UrlText } from "../../look/UrlText";
import { many } from "../../words/format";
import { moreSeeds } from "./list";

/** Removes a crawl that is over, for good. */
export function PurgeCrawl({ crawl, onClose }: { crawl: Crawl; onClose: () => void }) {
  const { mutateAsync } = api.useMutation("delete", "/api/v1/crawls/{crawl}");
  const run = async () => {
    await mutateAsync({ params: { path: { crawl: String(crawl.id) }, query: { purge: true } } });
    notice(`Crawl ${crawl.id} is deleted.`);
    await queries.invalidateQueries();
  };
  return (
    <Confirm title={`Delete crawl ${crawl.id}?`} action={`Delete crawl ${crawl.id}`} danger run={run} onClose={onClose}>
      <div className="text-text">
        {crawl.name && <bdi className="block wrap-anywhere font-medium">{crawl.name}</bdi>}
        <UrlText url={crawl.root_url} wrap /> {moreSeeds(crawl.seeds_count)}
      </div>
      <p>
        Its {many(crawl.total, "URL")} and the archive files that no other crawl uses are removed. This cannot be
        undone; a large crawl takes a while.
      </p>
    </Confirm>
  );
}
