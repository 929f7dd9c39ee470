import { expect, it } from "vitest";
import { phases, totalOf } from "./timing";

const names = (timing: unknown) => phases(timing).map(({ name, ms }) => `${name} ${ms}`);

it.each([
  [
    { dns_ms: 10, connect_ms: 20, tls_ms: 30, first_byte_ms: 30, total_ms: 100 },
    ["DNS 10", "connecting 20", "TLS 30", "waiting for the answer 30", "receiving 10"],
  ],
  [
    { dns_ms: 0, connect_ms: 0, tls_ms: 0, first_byte_ms: 40, total_ms: 50 },
    ["waiting for the answer 40", "receiving 10"],
  ],
  [{ first_byte_ms: 60, total_ms: 50 }, ["waiting for the answer 60"]], // clocks disagree: no negative rest
  [{ total_ms: 5 }, ["receiving 5"]],
  [{ dns_ms: null, total_ms: "7" }, []],
  [{ dns_ms: Number.NaN, connect_ms: -1, total_ms: 0 }, []],
  [null, []],
  ["naughty", []],
])("%j has the phases %j", (timing, expected) => expect(names(timing)).toEqual(expected));

it("each begins where the one before ended, and they fill the whole", () => {
  const found = phases({ dns_ms: 25, connect_ms: 25, total_ms: 100 });
  expect(found.map(({ from, share }) => [from, share])).toEqual([
    [0, 25],
    [25, 25],
    [50, 50],
  ]);
  expect(totalOf(found)).toBe(100);
});
