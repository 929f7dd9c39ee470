import { describe, expect, it } from "vitest";
import { aQueue } from "../../testing/records";
import { boundsOf, floorOf } from "./needs";

describe("boundsOf", () => {
  it("the host that needs longest is first; a host given up needs nothing", () => {
    const queues = [
      aQueue({ host: "many.example", open: 100, delay_ms: 100 }),
      aQueue({ host: "slow.example", open: 20, delay_ms: 5000 }),
      aQueue({ host: "dead.example", open: 900, delay_ms: 5000, dead: "nxdomain" }),
    ];
    const bounds = boundsOf(queues, 0, null);
    expect(bounds.map(({ host, needMs }) => [host, needMs])).toEqual([
      ["slow.example", 100_000],
      ["many.example", 10_000],
      ["dead.example", 0],
    ]);
    expect(bounds[2]).toMatchObject({ standing: "dead", why: "nxdomain" });
  });

  it("a host that was not asked yet has the floor of the crawl", () => {
    expect(boundsOf([aQueue({ open: 3, delay_ms: 0 })], 1000, null)[0]).toMatchObject({ delayMs: 1000, needMs: 3000 });
  });

  it("a queue without open URLs bounds nothing", () => expect(boundsOf([aQueue({ open: 0 })], 0, null)).toEqual([]));

  it.each([
    ["its turn comes", aQueue({ due_in_ms: 900 }), "waits"],
    ["a worker holds it", aQueue({ due_in_ms: null, held_by: 2 }), "held"],
    ["it rests", aQueue({ due_in_ms: 60_000 }), "rests"],
    ["a long delay is no rest", aQueue({ due_in_ms: 9000, delay_ms: 10_000 }), "waits"],
  ])("%s", (_, queue, standing) => expect(boundsOf([queue], 0, null)[0]?.standing).toBe(standing));

  it("why it rests, where that is told", () => {
    const resting = { host: "example.com", in_ms: 9000, reason: "retry_after" };
    expect(boundsOf([aQueue()], 0, resting)[0]).toMatchObject({ standing: "rests", why: "retry_after" });
  });
});

it("floorOf", () => {
  expect(floorOf({ polite: { floor_ms: 250 } })).toBe(250);
  expect(floorOf({})).toBe(0);
});
