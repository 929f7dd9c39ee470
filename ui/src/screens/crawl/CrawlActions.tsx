import { useState } from "react";
import { api, queries } from "../../api/client";
import { useMay } from "../../api/me";
import { asProblem } from "../../api/problem";
import type { CrawlDetail, CrawlState } from "../../api/types";
import { Button } from "../../look/Button";
import { Confirm } from "../../look/Confirm";
import { notice } from "../../look/Notice";
import { many } from "../../words/format";
import { isOver } from "../../words/states";
import { AgainActions } from "./AgainActions";
import { NamingDialog } from "./NamingDialog";
import { fitting } from "./standing";
import { TuneDialog } from "./TuneDialog";

interface Props {
  id: string;
  detail: CrawlDetail;
  state: CrawlState;
}

/** Only what fits its state, and only for those who may. */
export function CrawlActions({ id, detail, state }: Props) {
  const [asked, setAsked] = useState<"cancel" | "tune" | "name" | null>(null);
  const pause = api.useMutation("post", "/api/v1/crawls/{crawl}/pause");
  const resume = api.useMutation("post", "/api/v1/crawls/{crawl}/resume");
  const cancel = api.useMutation("post", "/api/v1/crawls/{crawl}/cancel");
  if (!useMay("write")) return null;

  const may = fitting(state);
  const where = { params: { path: { crawl: id } } };
  const done = async (words: string) => {
    notice(`crawl ${detail.id} ${words}`);
    await queries.invalidateQueries();
  };
  const failed = (error: unknown) => notice(asProblem(error).message);
  const close = () => setAsked(null);
  return (
    <>
      <Button onClick={() => setAsked("name")}>{detail.name ? "Rename" : "Name"}</Button>
      {may.tune && <Button onClick={() => setAsked("tune")}>Pace and limits</Button>}
      {may.pause && (
        <Button
          busy={pause.isPending}
          onClick={() => pause.mutate(where, { onSuccess: () => done("is paused"), onError: failed })}
        >
          Pause
        </Button>
      )}
      {may.resume && (
        <Button
          kind="primary"
          busy={resume.isPending}
          onClick={() => resume.mutate(where, { onSuccess: () => done("goes on"), onError: failed })}
        >
          Resume
        </Button>
      )}
      {may.cancel && (
        <Button kind="danger" onClick={() => setAsked("cancel")}>
          Cancel
        </Button>
      )}
      {isOver(state) && <AgainActions id={id} detail={detail} />}
      {asked === "name" && <NamingDialog id={id} detail={detail} onClose={close} />}
      {asked === "tune" && <TuneDialog id={id} detail={detail} onClose={close} />}
      {asked === "cancel" && (
        <Confirm
          title={`Cancel crawl ${detail.id}?`}
          action="Cancel the crawl"
          danger
          run={async () => {
            await cancel.mutateAsync(where);
            await done("is cancelled");
          }}
          onClose={close}
        >
          {detail.name && <bdi className="block wrap-anywhere">{detail.name}</bdi>}
          <p className="wrap-anywhere">{detail.root_url}</p>
          <p>
            No further request is made, and what is still queued ({many(detail.pending, "URL")} when last counted) ends
            as cancelled. What was fetched stays. It cannot be taken up again.
          </p>
        </Confirm>
      )}
    </>
  );
}
