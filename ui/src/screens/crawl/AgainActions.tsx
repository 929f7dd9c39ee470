import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { api, queries } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { CrawlDetail } from "../../api/types";
import { Button, buttonClass } from "../../look/Button";
import { notice } from "../../look/Notice";
import { copyOf, leavesOut } from "../crawls/new/copy";
import { GoOnDialog } from "./GoOnDialog";
import { limitToRaise } from "./tune";

const FRESH_MS = 60_000; // the settings of a server change with its version only

/** What can be done with a crawl that is over: more of it, the same again, or a changed copy. */
export function AgainActions({ id, detail }: { id: string; detail: CrawlDetail }) {
  const [asked, setAsked] = useState(false);
  const limit = limitToRaise(detail);
  return (
    <>
      {limit && <Button onClick={() => setAsked(true)}>Go on</Button>}
      <RunAgain id={id} detail={detail} />
      <Copy detail={detail} />
      {limit && asked && <GoOnDialog id={id} detail={detail} limit={limit} onClose={() => setAsked(false)} />}
    </>
  );
}

function RunAgain({ id, detail }: { id: string; detail: CrawlDetail }) {
  const navigate = useNavigate();
  const again = api.useMutation("post", "/api/v1/crawls/{crawl}/again");
  const started = async ({ id: made }: CrawlDetail) => {
    notice(`crawl ${made} runs with the seeds and settings of crawl ${detail.id}`);
    navigate(`/crawls/${made}`);
    await queries.invalidateQueries();
  };
  return (
    <Button
      title="a new crawl with the same seeds and settings"
      busy={again.isPending}
      onClick={() =>
        again.mutate(
          { params: { path: { crawl: id } } },
          { onSuccess: started, onError: (error) => notice(asProblem(error).message) },
        )
      }
    >
      Run again
    </Button>
  );
}

/** Leads to the form of a new crawl, filled with this one. */
function Copy({ detail }: { detail: CrawlDetail }) {
  const { data } = api.useQuery("get", "/api/v1/settings", {}, { staleTime: FRESH_MS });
  if (!data || detail.seeds.length < detail.seeds_count) return null; // a form has no room for so many seeds
  const left = leavesOut(detail);
  const without = left.length > 0 ? `, without ${left.join(" and ")}, which may hold passwords` : "";
  return (
    <Link
      to="/crawls/new"
      state={{ draft: copyOf(detail, data) }}
      title={`the form of a new crawl, filled with its seeds and settings${without}`}
      className={buttonClass()}
    >
      Edit a copy
    </Link>
  );
}
