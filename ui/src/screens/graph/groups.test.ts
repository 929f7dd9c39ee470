import { describe, expect, it } from "vitest";
import { node } from "../../testing/graphs";
import { below, groupsOf, inmost, shortName } from "./groups";

const at = (...urls: string[]) =>
  urls.map((url, place) => node(place + 1, null, { url: `https://${url}`, domain: url.split("/")[0] ?? "" }));
const names = (urls: string[]) => {
  const { names, counts } = groupsOf(at(...urls));
  return Object.fromEntries(names.map((name, group) => [name, counts[group]]));
};

describe("groups", () => {
  it("are hosts, in them folders, in those folders again", () => {
    expect(names(["a/", "a/x/", "a/x/1", "a/x/y/2", "b/3?q=/z/"])).toEqual({ "": 5, a: 4, "a/x": 3, "a/x/y": 1, b: 1 });
  });

  it("have their parts, the largest first", () => {
    const groups = groupsOf(at("a/x/1", "a/y/1", "a/y/2", "a/3"));
    const called = (numbers: readonly number[] = []) => numbers.map((group) => groups.names[group]);
    const a = groups.names.indexOf("a");
    expect(called(groups.children[a])).toEqual(["a/y", "a/x"]);
    expect(groups.own[a]).toBe(1);
    expect(called(below(groups, a))).toEqual(["a", "a/y", "a/x"]);
    expect(called([...groups.of])).toEqual(["a/x", "a/y", "a/y", "a"]);
  });

  it("are one where one holds nothing but the other", () => {
    const groups = groupsOf(at("a/x/y/1", "a/x/y/2"));
    expect(groups.names[inmost(groups, 0)]).toBe("a/x/y");
  });

  it("keep many pages beside folders together", () => {
    const pages = Array.from({ length: 40 }, (_, page) => `a/x/${page}`);
    expect(names(["a/x/y/1", ...pages])).toMatchObject({ "a/x": 41, "a/x/.": 40, "a/x/y": 1 });
    expect(names(pages)).not.toHaveProperty("a/x/.");
  });

  it("share one, where they are many and small", () => {
    const hosts = Array.from({ length: 400 }, (_, host) => `h${host}/`);
    const groups = groupsOf(at("big/1", "big/2", ...hosts));
    const others = groups.names.indexOf("*");
    expect(groups.children[0]).toHaveLength(300);
    expect(groups.counts[others]).toBe(102);
    expect(groups.counts[0]).toBe(402);
    expect(groups.parents[groups.names.indexOf("h399")]).toBe(others);
  });

  it.each([
    ["a.example", "", "a.example"],
    ["a.example/docs/x", "a.example/docs", "/x"],
    ["a.example/docs/x", "a.example", "/docs/x"],
    ["a.example/docs/.", "a.example/docs", "pages of /docs"],
    ["a.example/.", "a.example", "pages of a.example"],
    ["*", "", "others"],
    ["a.example/*", "a.example", "others"],
  ])("calls %s in %s %s", (name, around, label) => expect(shortName(name, around)).toBe(label));
});
