import { describe, expect, it } from "vitest";
import type { HostQueue } from "../../api/types";
import { aClock, aQueue } from "../../testing/records";
import { nextInMs } from "./queues";

const host = (queue: Partial<HostQueue["queue"]>, next: number | null = null): HostQueue => ({
  queue: aQueue(queue),
  clock: next === null ? null : aClock({ next_in_ms: next }),
  rule: null,
  robots_version: null,
  robots_access: null,
});

describe("nextInMs", () => {
  it.each([
    ["what is due later than the clock", host({ due_in_ms: 5000 }, 900), 5000],
    ["what the clock allows later", host({ due_in_ms: 0 }, 900), 900],
    ["not asked yet", host({ due_in_ms: 0 }), 0],
    ["held by a worker, by its clock", host({ due_in_ms: null, held_by: 1 }, 700), 700],
    ["nothing is open", host({ open: 0, due_in_ms: null }, 700), null],
    ["given up", host({ dead: "dns" }, 700), null],
  ])("%s", (_, facts, next) => expect(nextInMs(facts)).toBe(next));
});
