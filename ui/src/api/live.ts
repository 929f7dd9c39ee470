/** The progress of a crawl as the server tells it, every second, over a WebSocket that comes back by itself. */
import { useEffect, useState } from "react";
import { connection } from "./connection";
import { secret } from "./secret";
import type { Progress } from "./types";

export type Line = "connecting" | "live" | "reconnecting" | "over" | "missing" | "refused";

export interface Live {
  line: Line;
  progress: Progress | null;
  history: readonly Sample[];
}

export interface Sample {
  at: number; // ms
  rate: number;
  ended: number;
  queued: number;
  failed: number;
}

const HISTORY_MAX = 3600;
const CRAWLS_MAX = 20;
const WAITS_MS = [500, 1000, 2000, 4000, 5000];
const STALE_MS = 10_000; // a connection without a message for so long is dead
const CLOSED = { over: 1000, missing: 4404, revoked: 4401 };

const histories = new Map<string, Sample[]>();

/** Samples for the charts, kept over navigation; those of the oldest crawl are dropped first. */
export function historyOf(crawl: string): Sample[] {
  let found = histories.get(crawl);
  if (!found) {
    found = [];
    histories.set(crawl, found);
    const oldest = histories.keys().next().value;
    if (histories.size > CRAWLS_MAX && oldest !== undefined) histories.delete(oldest);
  }
  return found;
}

export function sampleOf(progress: Progress, at: number): Sample {
  const ended = progress.total - progress.queued - progress.in_progress;
  return { at, rate: progress.rate ?? 0, ended, queued: progress.queued, failed: progress.failed };
}

export function waitMs(attempt: number): number {
  return WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)] ?? 0;
}

function address(crawl: string): string {
  const url = new URL(`/api/v1/crawls/${encodeURIComponent(crawl)}/ws`, window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** One connection to the progress of one crawl. `stop()` ends it for good. */
export class Watcher {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private stopped = false;

  constructor(
    private readonly crawl: string,
    private readonly onLine: (line: Line) => void,
    private readonly onProgress: (progress: Progress) => void,
  ) {}

  start(): void {
    this.onLine("connecting");
    this.open();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private open(): void {
    const token = secret();
    const socket = new WebSocket(address(this.crawl), token ? ["bearer", token] : []);
    this.socket = socket;
    socket.onmessage = (event) => this.heard(String(event.data));
    socket.onclose = (event) => this.closed(event.code);
    this.watch();
  }

  /** Drops a connection that died silently: no message comes, and it was not closed. */
  private watch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.socket?.close(), STALE_MS);
  }

  private heard(text: string): void {
    if (this.stopped) return;
    this.watch();
    const message = JSON.parse(text) as Progress | { error: string };
    if ("error" in message) return;
    this.attempt = 0;
    connection.answered();
    this.onLine(message.final ? "over" : "live");
    this.onProgress(message);
  }

  private closed(code: number): void {
    clearTimeout(this.timer);
    if (this.stopped) return;
    if (code === CLOSED.over) return;
    if (code === CLOSED.missing) {
      this.onLine("missing");
      return;
    }
    if (code === CLOSED.revoked) {
      connection.refused();
      this.onLine("refused");
      return;
    }
    this.onLine("reconnecting");
    this.timer = setTimeout(() => this.open(), waitMs(this.attempt));
    this.attempt += 1;
  }
}

/** `restart`: another value opens a new connection, as when a crawl that was over goes on. */
export function useLive(crawl: string, restart?: unknown): Live {
  const [live, setLive] = useState<Live>({ line: "connecting", progress: null, history: historyOf(crawl) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: restart is a reason to begin anew, not a value that is read
  useEffect(() => {
    setLive({ line: "connecting", progress: null, history: historyOf(crawl) });
    const watcher = new Watcher(
      crawl,
      (line) => setLive((before) => ({ ...before, line })),
      (progress) => {
        const history = historyOf(crawl);
        history.push(sampleOf(progress, Date.now()));
        if (history.length > HISTORY_MAX) history.shift();
        setLive((before) => ({ ...before, progress, history: [...history] }));
      },
    );
    watcher.start();
    return () => watcher.stop();
  }, [crawl, restart]);
  return live;
}
