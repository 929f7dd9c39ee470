/** How a crawl stands: the live message where there is one, else what its record says. */
import type { CrawlDetail, CrawlState, Progress, UrlState } from "../../api/types";
import type { Facts } from "../../words/sentence";
import { isOver } from "../../words/states";

/** The state of a crawl. Live messages of a crawl whose processes were killed still say `running`; its record does not. */
export function stateOf(detail: CrawlDetail, progress: Progress | null): CrawlState {
  if (!progress) return detail.status;
  const killed = progress.state === "running" && detail.status === "paused" && progress.workers.length === 0;
  return killed ? "paused" : progress.state;
}

export type Standing = Facts &
  Pick<Progress, "failed" | "requests" | "retries" | "bytes" | "errors" | "sitemaps"> & {
    ended: number;
    states: Partial<Record<UrlState, number>>;
  };

export function standingOf(detail: CrawlDetail, progress: Progress | null): Standing {
  const state = stateOf(detail, progress);
  if (progress) {
    const { queued, in_progress } = progress;
    return {
      ...progress,
      state,
      reason: progress.reason || detail.reason,
      cause: progress.cause || detail.cause,
      ended: progress.total - queued - in_progress,
      states: { ...progress.states, queued, in_progress },
    };
  }
  const { pending, in_progress, total } = detail;
  return {
    ...detail,
    state,
    queued: pending,
    ended: total - pending - in_progress,
    rate: null,
    eta_seconds: null,
    bounded_by: null,
    resting: null,
    waiting: "",
  };
}

/** Requisites or sitemaps by state, with those that are open. */
export function openAndEnded({ states, queued, in_progress }: Progress["requisites"]): Standing["states"] {
  return { ...states, queued, in_progress };
}

/** The actions that fit a state. */
export function fitting(state: CrawlState) {
  return {
    pause: state === "running",
    resume: state === "paused",
    cancel: state === "running" || state === "paused",
    tune: !isOver(state) && state !== "ending",
  };
}
