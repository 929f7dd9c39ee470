import { describe, expect, it } from "vitest";
import { Problem } from "../../api/problem";
import type { Me, Token } from "../../api/types";
import { aBlock, aCaller, anError, aToken } from "../../testing/records";
import { matching, placed, valuesOf, wrongWith } from "./blocks";
import { matchingErrors, newer, reasonsOf } from "./errors";
import { meaning, read, typed } from "./floor";
import { afterRevoking, inOrder, isMine, living } from "./revoking";
import { addressOf, SECTIONS, sectionOf } from "./sections";

describe("block rules", () => {
  it("are taken apart as they are typed", () => {
    expect(valuesOf("domain", " a.example, b.example\n\nc.example a.example ")).toEqual([
      "a.example",
      "b.example",
      "c.example",
    ]);
    expect(valuesOf("pattern", "*a, b*\r\n  *c d*  \n")).toEqual(["*a, b*", "*c d*"]);
    expect(valuesOf("domain", " \n ")).toEqual([]);
  });

  it("are one to a thousand", () => {
    expect(wrongWith([])).toMatch(/at least one/);
    expect(wrongWith(["a"])).toBeNull();
    expect(wrongWith(Array.from({ length: 1001 }, String))).toMatch(/these are 1001/);
  });

  it.each([
    ["values", "'x y' is no host", { values: "'x y' is no host" }],
    ["values.1", "values.1: too long", { values: "second: too long" }],
    ["values.9", "values.9: too long", { values: "too long" }],
    ["reason", "reason: too long", { reason: "reason: too long" }],
    ["kind", "kind: unknown", { whole: "kind: unknown" }],
    [null, "no", { whole: "no" }],
  ])("have the error of %s at its place", (field, message, place) => {
    expect(placed(new Problem(422, "invalid", message, "", field), ["first", "second"])).toEqual(place);
  });

  it("are found by every word of theirs", () => {
    const blocks = [
      aBlock(1, "spam.example"),
      aBlock(2, "*/tag/*", { kind: "pattern", reason: "", created_by: "bob" }),
    ];
    expect(matching(blocks, "")).toHaveLength(2);
    expect(matching(blocks, " SPAM ").map(({ value }) => value)).toEqual(["spam.example"]);
    expect(matching(blocks, "bob")).toHaveLength(1);
    expect(matching(blocks, "nothing")).toEqual([]);
  });
});

describe("the floor", () => {
  it.each([
    ["2 s", { ms: 2000 }],
    ["0", { ms: 0 }],
    ["0 s", { ms: 0 }],
    ["1.5 min", { ms: 90_000 }],
    ["7 d", { ms: 604_800_000 }],
  ])("reads %j", (text, found) => expect(read(text)).toEqual(found));

  it.each(["2", "", "soon", "-1 s", "8 d", `${"9".repeat(400)} d`])("refuses %j", (text) => {
    expect(read(text)).toHaveProperty("wrong");
  });

  it.each([0, 1, 500, 1000, 1500, 61_000])("writes %s ms so that it can be read again", (ms) => {
    expect(read(typed(ms))).toEqual({ ms });
  });

  it("is said in words", () => {
    expect(meaning(0)).toMatch(/no global limit/);
    expect(meaning(2000)).toBe(
      "No host is asked more often than every 2 s, whatever a crawl says: at most 30 a minute to each.",
    );
    expect(meaning(90_000)).toMatch(/less than one a minute/);
  });
});

describe("errors", () => {
  const error = (id: number, reason = "timeout", detail = "") => anError(id, { reason, detail });

  it("that are new are counted", () => {
    expect(newer([error(5), error(4)], [error(7), error(6), error(5)])).toBe(2);
    expect(newer([], [error(1)])).toBe(1);
    expect(newer([error(5)], [error(5)])).toBe(0);
  });

  it("are grouped by reason, the most frequent first", () => {
    expect(reasonsOf([error(1), error(2, "dns"), error(3, "dns"), error(4, "connect")])).toEqual([
      ["dns", 2],
      ["connect", 1],
      ["timeout", 1],
    ]);
  });

  it("are found by reason and text", () => {
    const errors = [error(1, "timeout", "after 10 s"), error(2, "dns", "NXDOMAIN")];
    expect(matchingErrors(errors, "", "")).toHaveLength(2);
    expect(matchingErrors(errors, "dns", "")).toHaveLength(1);
    expect(matchingErrors(errors, "dns", "after")).toEqual([]);
    expect(matchingErrors(errors, "", "nxdomain")).toHaveLength(1);
    expect(matchingErrors(errors, "", "example.com/1")).toHaveLength(1);
  });
});

describe("tokens", () => {
  const me: Me = { ...aCaller(), name: "token-1" };
  const gone = "2026-03-02T10:00:00Z";

  it("that hold come first", () => {
    const all = [aToken(1, "read", gone), aToken(3), aToken(2)];
    expect(inOrder(all).map(({ id }) => id)).toEqual([2, 3, 1]);
    expect(living(all)).toHaveLength(2);
  });

  it("of this tab are known by their name", () => {
    expect(isMine(aToken(1), me)).toBe(true);
    expect(isMine(aToken(2), me)).toBe(false);
    expect(isMine(aToken(1, "admin", gone), me)).toBe(false);
    expect(isMine(aToken(1), { ...me, token: false })).toBe(false);
    expect(isMine(aToken(1), undefined)).toBe(false);
  });

  it("say what follows when they are revoked", () => {
    const said = (which: Token, all: Token[]) => afterRevoking(which, all, me).join(" ");
    expect(said(aToken(2), [aToken(1), aToken(2)])).not.toMatch(/last|this tab/);
    expect(said(aToken(1), [aToken(1), aToken(2)])).toMatch(/this tab/);
    expect(said(aToken(2), [aToken(2), aToken(3, "read")])).toMatch(/last with access admin/);
    expect(said(aToken(3, "read"), [aToken(2), aToken(3, "read")])).not.toMatch(/last/);
    expect(said(aToken(1), [aToken(1), aToken(2, "admin", gone)])).toMatch(/last one: without any/);
  });
});

describe("sections", () => {
  it("are in the address, the first without a word", () => {
    for (const section of SECTIONS) {
      expect(sectionOf(new URL(addressOf(section), "http://x").searchParams)).toBe(section);
    }
    expect(addressOf(SECTIONS[0])).toBe("/admin");
    expect(sectionOf(new URLSearchParams("section=<b>"))).toBe(SECTIONS[0]);
  });
});
