import { describe, expect, it } from "vitest";
import { apart } from "./apart";
import { Nested, radiiOf, WHOLE_RADIUS } from "./nested";
import type { Nest } from "./protocol";
import { roomSizes, roundsOf } from "./rooms";
import { type Disc, fitted, gathered, spread } from "./spread";

const none = { pairs: new Int32Array(), weights: new Float32Array() };

/** Slots by area: [name of the area, the area around it, keys with their counts]. */
function nest(...areas: [string, number, Record<string, number>][]): Nest {
  const slots = areas.flatMap(([, , inside], area) =>
    Object.entries(inside).map(([key, count]) => ({ key, count, area })),
  );
  return {
    keys: slots.map(({ key }) => key),
    areas: Int32Array.from(slots, ({ area }) => area),
    counts: Float32Array.from(slots, ({ count }) => count),
    names: areas.map(([name]) => name),
    above: Int32Array.from(areas, ([, above]) => above),
  };
}

function made() {
  let now = 0;
  return new Nested(() => {
    now += 1;
    return now;
  });
}

function settle(map: Nested): void {
  for (let turn = 0; !map.settled && turn < 10_000; turn++) map.step();
}

function discs(map: Nested): Disc[] {
  const [places, radii] = [map.places(), map.radii()];
  return [...radii].map((radius, slot) => ({ x: places[2 * slot] ?? 0, y: places[2 * slot + 1] ?? 0, radius }));
}

const distance = (a: Disc | undefined, b: Disc | undefined) =>
  Math.hypot((a?.x ?? 0) - (b?.x ?? 0), (a?.y ?? 0) - (b?.y ?? 0));

const closed = nest(["", -1, { "+a": 900, "+b": 400, "+c": 100, n1: 1 }]);
const opened = nest(["", -1, { "+b": 400, "+c": 100, n1: 1 }], ["a", 0, { n2: 1, n3: 1, n4: 1, "+a/x": 897 }]);
const lines = { pairs: Int32Array.of(0, 1, 1, 2, 2, 3), weights: Float32Array.of(9, 3, 1) };

describe("the map of groups", () => {
  it("gives each the room of its nodes, none over another, all inside", () => {
    const map = made();
    map.arrange(closed, lines, false);
    settle(map);
    const found = discs(map);
    expect((found[0]?.radius ?? 0) / (found[1]?.radius ?? 1)).toBeCloseTo(1.5);
    for (const [at, disc] of found.entries()) {
      expect(Math.hypot(disc.x, disc.y) + disc.radius).toBeLessThanOrEqual(WHOLE_RADIUS);
      for (const other of found.slice(at + 1)) {
        expect(distance(disc, other)).toBeGreaterThan(0.95 * (disc.radius + other.radius));
      }
    }
  });

  it("opens a group in its place, and moves nothing else", () => {
    const map = made();
    map.arrange(closed, lines, false);
    settle(map);
    const [a, b, c] = discs(map);
    map.arrange(opened, none, false);
    settle(map);
    const found = discs(map);
    expect([found[0], found[1]]).toEqual([b, c]);
    const area = map.areas().slice(3, 6);
    expect([...area]).toEqual([a?.x, a?.y, a?.radius].map((number) => expect.closeTo(number ?? 0, 2)));
    for (const disc of found.slice(3)) expect(distance(disc, a) + disc.radius).toBeLessThanOrEqual(a?.radius ?? 0);
    map.arrange(closed, lines, false);
    expect(discs(map)[0]).toEqual(a);
  });

  it("lays out a group that was closed too early when it is opened again", () => {
    const map = made();
    const inner = { pairs: Int32Array.of(3, 4, 4, 5), weights: Float32Array.of(1, 1) };
    map.arrange(closed, none, false);
    map.arrange(opened, inner, false);
    expect(map.settled).toBe(false);
    map.arrange(closed, none, false);
    expect(map.settled).toBe(true);
    map.arrange(opened, inner, false);
    expect(map.settled).toBe(false);
  });

  it("is laid out once its links are read, and anew when it is tidied", () => {
    const map = made();
    map.arrange(closed, none, true);
    expect(map.settled).toBe(true);
    const before = map.places();
    map.arrange(closed, lines, false);
    expect(map.settled).toBe(false);
    settle(map);
    expect(map.places()).not.toEqual(before);
    map.tidy();
    expect(map.settled).toBe(false);
  });

  it("ends in time", () => {
    const map = made();
    map.arrange(closed, lines, false);
    let steps = 0;
    for (; !map.settled; steps++) map.step();
    expect(steps).toBeLessThan(2600); // the clock of this test goes on by a millisecond at each look
  });

  it("finds a place for what comes later, beside what stays", () => {
    const map = made();
    map.arrange(closed, lines, false);
    settle(map);
    const before = discs(map);
    map.arrange(nest(["", -1, { "+a": 900, "+b": 400, "+c": 100, n1: 1, "+d": 50, n9: 1 }]), lines, false);
    const after = discs(map);
    expect(after.slice(0, 4)).toEqual(before);
    for (const fresh of after.slice(4)) {
      for (const old of before) expect(distance(fresh, old)).toBeGreaterThan(0.9 * (fresh.radius + old.radius));
    }
  });

  it("does not let small groups vanish", () => expect(radiiOf([1_000_000, 1])).toEqual([1000, 60]));
});

describe("discs", () => {
  const pile = (count: number): Disc[] =>
    Array.from({ length: count }, (_, at) => ({ x: at / 100, y: (at * 7) % 3, radius: 1 + (at % 3) }));

  it.each([
    ["spread", spread],
    ["gathered", gathered],
  ] as const)("that are %s lie beside each other", (_, done) => {
    const found = pile(40);
    done(found);
    for (const [at, disc] of found.entries()) {
      for (const other of found.slice(at + 1))
        expect(distance(disc, other)).toBeGreaterThan(0.9 * (disc.radius + other.radius));
    }
  });

  it("are fitted into a disc of one", () => {
    for (const { x, y, radius } of fitted(pile(9))) expect(Math.hypot(x, y) + radius).toBeLessThanOrEqual(1);
  });
});

describe("rooms", () => {
  const rooms = { radii: Float32Array.of(1000, 100, 1, 25), areas: Float32Array.of(0, 0, 1000, 5, 6, 250) };
  it("say how large each is drawn, where the camera is on its group", () => {
    const sizes = roomSizes(rooms, Int32Array.of(0, 0, 0, 1), { width: 900, height: 560 });
    expect([...sizes]).toEqual([46, expect.closeTo(13.75), expect.closeTo(0.7), expect.closeTo(6.875)]);
  });
  it("of opened groups are circles, but that of everything", () => {
    expect(roundsOf(rooms, ["", "/docs"])).toEqual([{ label: "/docs", x: 5, y: 6, radius: 250 }]);
  });
});

describe("names", () => {
  it("never lie over one before them", () => {
    const named = (x: number, y: number, size: number) => ({ x, y, size, label: `${x} ${y} ${size}` });
    const found = apart([named(20, 5, 9), named(0, 0, 3), named(0, 100, 3), named(300, 0, 3)], () => 50);
    expect(found.map(({ label }) => label)).toEqual(["20 5 9", "0 100 3", "300 0 3"]);
  });
});
