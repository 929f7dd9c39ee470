import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aProgress } from "../testing/records";
import { FakeSocket } from "../testing/socket";
import { connection, useConnection } from "./connection";
import { historyOf, type Line, sampleOf, useLive, Watcher, waitMs } from "./live";
import { keepSecret } from "./secret";
import type { Progress } from "./types";

const progress = (more: Partial<Progress> = {}) =>
  aProgress({ total: 10, queued: 4, in_progress: 1, failed: 2, rate: 3, ...more });

function watched(crawl = "7") {
  const lines: Line[] = [];
  const heard: Progress[] = [];
  const watcher = new Watcher(
    crawl,
    (line) => lines.push(line),
    (each) => heard.push(each),
  );
  watcher.start();
  return { watcher, lines, heard };
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.install();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("Watcher", () => {
  it("opens a line to the crawl, whatever its name", () => {
    watched("a/b?c");
    expect(FakeSocket.last.url).toBe(`${window.location.origin.replace("http", "ws")}/api/v1/crawls/a%2Fb%3Fc/ws`);
    expect(FakeSocket.last.protocols).toEqual([]);
  });

  it("shows its token as browsers can", () => {
    keepSecret("nph_1", false);
    watched();
    expect(FakeSocket.last.protocols).toEqual(["bearer", "nph_1"]);
  });

  it("tells what it hears", () => {
    const { lines, heard } = watched();
    FakeSocket.last.say(progress());
    FakeSocket.last.say({ error: "try again later" });
    FakeSocket.last.say(progress({ queued: 3 }));
    expect(lines).toEqual(["connecting", "live", "live"]);
    expect(heard.map(({ queued }) => queued)).toEqual([4, 3]);
  });

  it("comes back after waits that grow, up to five seconds", () => {
    const { lines } = watched();
    const waits: number[] = [];
    for (let times = 0; times < 7; times += 1) {
      const opened = FakeSocket.all.length;
      const from = Date.now();
      FakeSocket.last.end(1006);
      expect(lines.at(-1)).toBe("reconnecting");
      while (FakeSocket.all.length === opened) vi.advanceTimersByTime(100);
      waits.push(Date.now() - from);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 5000, 5000, 5000]);
    expect(waitMs(1000)).toBe(5000);
  });

  it("waits shortly again after it was heard", () => {
    const { lines } = watched();
    FakeSocket.last.end(1006);
    vi.advanceTimersByTime(500);
    FakeSocket.last.end(1006);
    vi.advanceTimersByTime(1000);
    FakeSocket.last.say(progress());
    FakeSocket.last.end(1001);
    vi.advanceTimersByTime(500);
    expect(FakeSocket.all).toHaveLength(4);
    expect(lines).toEqual(["connecting", "reconnecting", "reconnecting", "live", "reconnecting"]);
  });

  it("says that the server answers again", () => {
    const { result } = renderHook(() => useConnection());
    watched();
    act(() => connection.lost());
    act(() => FakeSocket.last.say(progress()));
    expect(result.current.lostAt).toBeNull();
  });

  it("is over after the last word, and stays so", () => {
    const { lines } = watched();
    FakeSocket.last.say(progress({ final: true }));
    FakeSocket.last.end(1000);
    vi.advanceTimersByTime(60_000);
    expect(lines).toEqual(["connecting", "over"]);
    expect(FakeSocket.all).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[number, Line]>([
    [4404, "missing"],
    [4401, "refused"],
  ])("does not come back after %s", (code, line) => {
    const { lines } = watched();
    FakeSocket.last.end(code);
    vi.advanceTimersByTime(60_000);
    expect(lines).toEqual(["connecting", line]);
    expect(FakeSocket.all).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("asks for a token when its own was revoked", () => {
    const { result } = renderHook(() => useConnection());
    watched();
    act(() => FakeSocket.last.end(4401));
    expect(result.current.needsToken).toBe(true);
  });

  it("closes a line that is silent, and opens another", () => {
    const { lines } = watched();
    FakeSocket.last.say(progress());
    vi.advanceTimersByTime(9_900);
    expect(FakeSocket.last.open).toBe(true);
    vi.advanceTimersByTime(200);
    expect(FakeSocket.all[0]?.open).toBe(false);
    expect(lines.at(-1)).toBe("reconnecting");
    vi.advanceTimersByTime(500);
    expect(FakeSocket.all).toHaveLength(2);
  });

  it("closes a line that never opens", () => {
    watched();
    vi.advanceTimersByTime(10_500);
    expect(FakeSocket.all).toHaveLength(2);
  });

  it.each(["at once", "while it lives", "while it waits"])("leaves nothing behind when it is stopped %s", (when) => {
    const { watcher, lines, heard } = watched();
    if (when !== "at once") FakeSocket.last.say(progress());
    if (when === "while it waits") FakeSocket.last.end(1006);
    const said = lines.length;
    watcher.stop();
    FakeSocket.last.say(progress({ queued: 0 }));
    vi.advanceTimersByTime(60_000);
    expect(FakeSocket.all.filter(({ open }) => open)).toEqual([]);
    expect(FakeSocket.all).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
    expect(lines).toHaveLength(said);
    expect(heard.some(({ queued }) => queued === 0)).toBe(false);
  });
});

describe("useLive", () => {
  it("keeps what it heard for the charts, and ends its line with the view", () => {
    const { result, unmount } = renderHook(() => useLive("71"));
    expect(result.current.line).toBe("connecting");
    act(() => FakeSocket.last.say(progress()));
    expect(result.current).toMatchObject({ line: "live", progress: { queued: 4 } });
    expect(result.current.history.map(({ ended }) => ended)).toEqual([5]);
    unmount();
    expect(FakeSocket.last.open).toBe(false);
    expect(renderHook(() => useLive("71")).result.current.history).toHaveLength(1);
  });

  it("opens the line anew for another crawl and for a restart", () => {
    const { rerender } = renderHook(({ crawl, restart }) => useLive(crawl, restart), {
      initialProps: { crawl: "72", restart: 0 },
    });
    rerender({ crawl: "72", restart: 0 });
    expect(FakeSocket.all).toHaveLength(1);
    rerender({ crawl: "72", restart: 1 });
    rerender({ crawl: "73", restart: 1 });
    expect(FakeSocket.all.map(({ open }) => open)).toEqual([false, false, true]);
  });
});

describe("history", () => {
  it("is of the latest twenty crawls", () => {
    const first = historyOf("first");
    first.push(sampleOf(progress(), 1));
    for (let crawl = 0; crawl < 20; crawl += 1) historyOf(`h${crawl}`);
    expect(historyOf("first")).toHaveLength(0);
  });

  it("has a sample of each message", () => {
    expect(sampleOf(progress({ rate: null }), 5)).toEqual({ at: 5, rate: 0, ended: 5, queued: 4, failed: 2 });
  });
});
