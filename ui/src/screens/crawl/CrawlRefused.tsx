import { keepPreviousData } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { api } from "../../api/client";
import { noneOf } from "../../look/ordering";
import { JsonLink } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { WrongAddress } from "../../look/WrongAddress";
import { count, words } from "../../words/format";
import { isOver } from "../../words/states";
import { useCrawl } from "./context";
import { RefusedPanel } from "./RefusedPanel";
import { isRefusal, REASONS_KNOWN } from "./refusals";
import { stateOf } from "./standing";

const AGAIN_MS = 10_000; // it adds up all hosts

/** What the crawl has refused, by reason; `?reason=` shows one alone. */
export function CrawlRefused() {
  const { id, detail, live } = useCrawl();
  const [search] = useSearchParams();
  const over = isOver(stateOf(detail, live.progress));
  const reason = search.get("reason");
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/refused",
    { params: { path: { crawl: id } } },
    { refetchInterval: over ? false : AGAIN_MS, placeholderData: keepPreviousData },
  );
  const shown = data?.refused.filter((each) => !reason || each.reason === reason) ?? [];
  return (
    <section className="flex min-w-0 flex-col gap-3 p-4">
      <h2 className="sr-only">Refused</h2>
      {!data && error && <Failure error={error} what="What was refused cannot be read" retry={refetch} />}
      {!data && !error && <Loading what="what was refused" />}
      {data && (
        <>
          <div className="flex flex-wrap items-center gap-2">
            <span>
              {count(shown.reduce((sum, each) => sum + each.count, 0))} refused
              {reason && `: ${words(reason)} only`}
            </span>
            {reason && (
              <Link to="?" className="link">
                all reasons
              </Link>
            )}
            <JsonLink path={`/api/v1/crawls/${encodeURIComponent(id)}/refused`} />
          </div>
          {shown.map((each) => (
            <RefusedPanel key={`${each.what} ${each.reason}`} refused={each} />
          ))}
          {shown.length === 0 && reason && !isRefusal(reason) && (
            <WrongAddress wrong={[noneOf("reason", reason, REASONS_KNOWN)]} />
          )}
          {shown.length === 0 && !(reason && !isRefusal(reason)) && (
            <Empty title={reason ? `Nothing was refused as ${words(reason)}.` : "Nothing was refused."}>
              <p>Links that the settings of the crawl, robots.txt or a block rule refuse appear here.</p>
            </Empty>
          )}
        </>
      )}
    </section>
  );
}
