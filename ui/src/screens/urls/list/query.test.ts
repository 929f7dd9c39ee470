import { describe, expect, it } from "vitest";
import {
  apiFilter,
  apiQuery,
  atFirst,
  changed,
  inspecting,
  isFiltered,
  nextPage,
  placeOf,
  previousPage,
  queryString,
  readQuery,
  totalOf,
  writeQuery,
  wrongIn,
} from "./query";

const read = (text: string) => readQuery(new URLSearchParams(text));
const write = (before: string, after: string) => writeQuery(new URLSearchParams(before), read(after)).toString();

describe("the address", () => {
  it.each([
    ["", ""],
    ["sort=id&order=asc&offset=0", ""],
    ["state=visited&state=failed", "state=visited&state=failed"],
    ["state=failed&state=failed&state=nonsense", "state=failed"],
    [
      "host=a.example&status=404&depth=0&reason=dns&text=%2Fx",
      "host=a.example&status=404&depth=0&reason=dns&text=%2Fx",
    ],
    ["status=abc&depth=-1", ""],
    ["kind=requisite&state=not_found", "state=not_found&kind=requisite"],
    ["kind=page", ""],
    ["kind=nonsense", ""],
    ["sort=nonsense&order=up", ""],
    ["sort=url&order=desc&offset=400", "sort=url&order=desc&offset=400"],
    ["sort=url&after=5", "sort=url"],
    ["after=200,x,400", "after=200%2C400"],
    ["offset=400", ""],
  ])("%s is read and written as %s", (before, after) => {
    expect(write("", before)).toBe(after);
  });

  it("keeps what is not of the list", () => {
    expect(write("inspect=7&tab=links&text=old", "text=new")).toBe("inspect=7&tab=links&text=new");
  });

  it("has the inspector beside the list", () => {
    const before = new URLSearchParams("text=x&inspect=1");
    expect(inspecting(before, 7).toString()).toBe("text=x&inspect=7");
    expect(inspecting(before, 7, "source").toString()).toBe("text=x&inspect=7&tab=source");
  });
});

describe("the request", () => {
  it.each([
    ["", { limit: 200 }],
    ["state=visited&state=queued&status=0", { state: ["visited", "queued"], status: 0, limit: 200 }],
    ["kind=requisite", { kind: "requisite", limit: 200 }],
    ["after=200,400", { after: 400, limit: 200 }],
    ["order=desc", { order: "desc", limit: 200 }],
    ["sort=url&offset=200", { sort: "url", offset: 200, limit: 200 }],
  ])("of %s", (address, asked) => {
    const query = read(address);
    expect(apiQuery(query, placeOf(query))).toEqual(asked);
  });

  it("is written with repeated lists", () => {
    const { states, text } = read("state=visited&state=failed&text=a'b");
    expect(queryString({ format: "csv", ...apiFilter({ ...read(""), states, text }) })).toBe(
      "format=csv&state=visited&state=failed&text=a%27b",
    );
  });
});

describe("pages", () => {
  it("go on and back by id", () => {
    const second = nextPage(read(""), 200);
    const third = nextPage(second, 400);
    expect(third.after).toEqual([200, 400]);
    expect(previousPage(third)).toEqual(second);
    expect([atFirst(read("")), atFirst(second), atFirst(previousPage(second))]).toEqual([true, false, true]);
  });

  it("go on and back by offset where they are sorted", () => {
    const second = nextPage(read("sort=url"), 200);
    expect(second.offset).toBe(200);
    expect(previousPage(second).offset).toBe(0);
    expect(previousPage(read("sort=url&offset=100")).offset).toBe(0);
  });

  it("have an end in the address", () => {
    let query = read("");
    for (let at = 1; at <= 80; at++) query = nextPage(query, at);
    expect(query.after.length).toBe(50);
    expect(placeOf(query).at).toBe(80);
  });

  it("begin anew when the list changes", () => {
    expect(changed(read("after=200&text=x"), { text: "y" })).toEqual(read("text=y"));
  });
});

it.each([
  ["", false],
  ["sort=url&after=5&order=desc", false],
  ["state=visited", true],
  ["depth=0", true],
  ["status=0", true],
  ["host=x", true],
  ["kind=requisite", true],
  ["kind=sitemap", true],
])("%s is filtered: %s", (address, filtered) => expect(isFiltered(read(address))).toBe(filtered));

it("the total is known where only states are chosen", () => {
  const counts = { visited: 7, queued: 3, failed: 1 };
  expect(totalOf(read(""), counts)).toBe(11);
  expect(totalOf(read("state=visited&state=failed&sort=bytes&order=desc"), counts)).toBe(8);
  expect(totalOf(read("state=visited&text=a"), counts)).toBeNull();
  expect(totalOf(read("kind=requisite&state=visited"), counts)).toBe(7);
});

describe("what an address asks for and there is not", () => {
  it.each([
    ["state=visited&state=failed&sort=bytes&order=desc&status=404&depth=0", []],
    ["", []],
    ["state=bogus", [/^state: “bogus” is none of visited, redirected/]],
    ["state=visited&state=gone", [/^state: “gone”/]],
    ["sort=size&order=up", [/^sort: “size” is none of id, /, /^order: “up” is none of asc, desc$/]],
    ["status=ok&depth=-1", [/^status: “ok” is no number$/, /^depth: “-1” is no number$/]],
  ])("%s", (text, lines) => {
    expect(wrongIn(new URLSearchParams(text))).toEqual(lines.map((line) => expect.stringMatching(line)));
  });
});
