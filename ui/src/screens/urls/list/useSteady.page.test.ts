import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";
import { useSteady } from "./useSteady";

interface Given {
  key: string;
  ids: number[];
  old?: boolean;
  lookedAt: boolean;
}

function begin(given: Given) {
  const made = new Map<string, { id: number }[]>();
  const rows = (ids: number[]) => {
    const found = made.get(ids.join()) ?? ids.map((id) => ({ id }));
    made.set(ids.join(), found);
    return found;
  };
  const hook = renderHook(({ key, ids, old = false, lookedAt }: Given) => useSteady(key, rows(ids), old, lookedAt), {
    initialProps: given,
  });
  const now = () => [hook.result.current.rows.map(({ id }) => id).join(), hook.result.current.waiting];
  return { ...hook, now };
}

it("lets new rows in while nobody looks, and holds them while somebody does", () => {
  const { rerender, now, result } = begin({ key: "a", ids: [2, 1], lookedAt: false });
  rerender({ key: "a", ids: [3, 2, 1], lookedAt: false });
  expect(now()).toEqual(["3,2,1", 0]);
  rerender({ key: "a", ids: [3, 2, 1], lookedAt: true });
  rerender({ key: "a", ids: [5, 4, 3, 2, 1], lookedAt: true });
  expect(now()).toEqual(["3,2,1", 2]);
  act(() => result.current.show());
  expect(now()).toEqual(["5,4,3,2,1", 0]);
  rerender({ key: "a", ids: [6, 5, 4, 3, 2, 1], lookedAt: true });
  expect(now()).toEqual(["5,4,3,2,1", 1]);
  rerender({ key: "a", ids: [6, 5, 4, 3, 2, 1], lookedAt: false });
  expect(now()).toEqual(["6,5,4,3,2,1", 0]);
});

it("begins anew with another list, even while it is looked at", () => {
  const { rerender, now } = begin({ key: "a", ids: [2, 1], lookedAt: true });
  rerender({ key: "b", ids: [2, 1], old: true, lookedAt: true }); // the rows of before, until the new ones are there
  rerender({ key: "b", ids: [9, 8], lookedAt: true });
  expect(now()).toEqual(["9,8", 0]);
});
