import { keepPreviousData } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import type { ErrorNote } from "../../api/types";
import { Button } from "../../look/Button";
import { noneOf } from "../../look/ordering";
import { Panel } from "../../look/Panel";
import { Empty, Failure, Loading } from "../../look/States";
import { count, many, words } from "../../words/format";
import { withParameters } from "../address";
import { REASONS } from "../urls/reasons";
import { ErrorsTable } from "./ErrorsTable";
import { LIMIT, matchingErrors, newer, reasonsOf } from "./errors";
import { Filter } from "./Filter";
import { useTyped } from "./useTyped";

export function RecentErrors() {
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/errors",
    { params: { query: { limit: LIMIT } } },
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  if (data) return <Held latest={data.errors} />;
  return error ? (
    <Failure error={error} what="The errors cannot be shown" retry={refetch} />
  ) : (
    <Loading what="errors" />
  );
}

/** Rows never move by themselves: new errors wait behind a button. */
function Held({ latest }: { latest: ErrorNote[] }) {
  const [held, setHeld] = useState(latest);
  if (!held.length && latest.length) setHeld(latest); // nothing was there that could move
  const waiting = newer(held, latest);
  if (!held.length) {
    return (
      <Empty title="No errors are known.">
        <p>What fails in any crawl is listed here, the latest {count(LIMIT)}.</p>
      </Empty>
    );
  }
  const news = waiting > 0 && (
    <Button onClick={() => setHeld(latest)}>
      {waiting >= LIMIT ? `${count(LIMIT)} or more new` : `${count(waiting)} new`}
    </Button>
  );
  return <Filtered errors={held} news={news} />;
}

function Filtered({ errors, news }: { errors: ErrorNote[]; news: ReactNode }) {
  const [search, setSearch] = useSearchParams();
  const [text, type] = useTyped("text");
  const reason = search.get("reason") ?? "";
  const reasons = reasonsOf(errors);
  const shown = matchingErrors(errors, reason, text);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Filter label="Filter by URL or text" value={text} onChange={type} />
        <select
          aria-label="Reason"
          value={reason}
          onChange={(event) => setSearch(withParameters(search, { reason: event.target.value }), { replace: true })}
          className="input w-auto!"
        >
          <option value="">every reason</option>
          {reason && !reasons.some(([each]) => each === reason) && <option value={reason}>{words(reason)} (0)</option>}
          {reasons.map(([each, times]) => (
            <option key={each} value={each}>
              {words(each)} ({count(times)})
            </option>
          ))}
        </select>
        <span className="text-dim">
          {count(shown.length)} of the latest {many(errors.length, "error")}
        </span>
        <span role="status" className="ml-auto min-h-7">
          {news}
        </span>
      </div>
      <Panel title="Recent errors" flush>
        {shown.length > 0 ? (
          <ErrorsTable errors={shown} />
        ) : (
          <p className="p-3 text-dim">
            {reason && !Object.hasOwn(REASONS, reason)
              ? noneOf("reason", reason, Object.keys(REASONS))
              : "No error matches this filter."}
          </p>
        )}
      </Panel>
    </>
  );
}
