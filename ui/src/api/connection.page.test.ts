import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connection, useConnection } from "./connection";

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("connection", () => {
  it("remembers since when the server is lost", () => {
    const { result } = renderHook(() => useConnection());
    act(() => connection.lost());
    vi.setSystemTime(9000);
    act(() => connection.lost());
    expect(result.current.lostAt).toBe(1000);
    act(() => connection.answered());
    expect(result.current.lostAt).toBeNull();
  });

  it("takes a refusal as an answer, and asks until one is admitted", () => {
    const { result } = renderHook(() => useConnection());
    act(() => connection.lost());
    act(() => connection.refused());
    expect(result.current).toEqual({ lostAt: null, needsToken: true });
    act(() => connection.answered());
    expect(result.current.needsToken).toBe(true);
    act(() => connection.admitted());
    expect(result.current.needsToken).toBe(false);
  });

  it("tells nobody what has not changed", () => {
    let times = 0;
    renderHook(() => {
      times += 1;
      return useConnection();
    });
    const before = times;
    act(() => {
      connection.answered();
      connection.admitted();
    });
    expect(times).toBe(before);
  });
});
