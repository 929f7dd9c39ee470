import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useTyping } from "./useTyping";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function begin(value: string) {
  const commit = vi.fn();
  const hook = renderHook((given: string) => useTyping(given, commit), { initialProps: value });
  const type = (text: string) => act(() => hook.result.current[1](text));
  const pause = () => act(() => vi.runAllTimers());
  return { commit, type, pause, rerender: hook.rerender, text: () => hook.result.current[0] };
}

it("speaks once, when the typing pauses, without outer blanks", () => {
  const { commit, type, pause, text } = begin("");
  type("a");
  type("ab ");
  expect(commit).not.toHaveBeenCalled();
  pause();
  expect(commit.mock.calls).toEqual([["ab"]]);
  expect(text()).toBe("ab ");
});

it("keeps what is typed while its own word comes back, and takes what comes from elsewhere", () => {
  const { type, pause, rerender, text } = begin("");
  type("a");
  pause();
  type("ab");
  rerender("a");
  expect(text()).toBe("ab");
  rerender("z");
  expect(text()).toBe("z");
});

it("says nothing of what came from elsewhere", () => {
  const { commit, pause, rerender } = begin("a");
  rerender("");
  pause();
  expect(commit).not.toHaveBeenCalled();
});
