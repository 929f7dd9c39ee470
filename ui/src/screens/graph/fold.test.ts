import { describe, expect, it } from "vitest";
import { indexed, node } from "../../testing/graphs";
import { closedGroups, fold, foldWords, membersOf } from "./fold";

/** So many pages in each of these places. */
function pages(sizes: Record<string, number>) {
  const urls = Object.entries(sizes).flatMap(([path, size]) => Array.from({ length: size }, (_, at) => `${path}${at}`));
  return urls.map((url, at) => node(at + 1, at ? 1 : null, { url: `https://${url}`, domain: url.split("/")[0] ?? "" }));
}
const of = (nodes: ReturnType<typeof pages>, open: string[] = [], drawn = 1000, whole = 5) =>
  fold(nodes, indexed(nodes), open, { whole, drawn });
const keys = (folded: ReturnType<typeof of>) => folded.items.map((item) => item.key);

describe("fold", () => {
  it("leaves what is not large as it is", () => {
    const folded = of(pages({ "a/": 2, "b/": 3 }));
    expect(keys(folded)).toEqual(["1", "2", "3", "4", "5"]);
    expect(folded.items.map((item) => item.parent)).toEqual([-1, 0, 0, 0, 0]);
    expect(folded.items.map((item) => item.group)).toEqual(["a", "a", "b", "b", "b"]);
    expect(foldWords(folded, 5)).toBe("");
  });

  it("begins with hosts", () => {
    const folded = of(pages({ "a/": 4, "b/": 3, "c/": 1 }));
    expect(keys(folded)).toEqual(["+a", "+b", "8"]);
    expect(folded.items.map((item) => item.fold?.count)).toEqual([4, 3, undefined]);
    expect(folded.items.map((item) => item.parent)).toEqual([-1, 0, 0]);
    expect([...folded.at]).toEqual([0, 0, 0, 0, 1, 1, 1, 2]);
    expect(folded.areas).toEqual([{ name: "", label: "", parent: -1 }]);
  });

  it("begins with the folders of an only host", () => {
    const folded = of(pages({ "a/x/": 4, "a/y/": 3, "a/": 1 }));
    expect(keys(folded)).toEqual(["+a/x", "+a/y", "8"]);
    expect(folded.items.map((item) => item.fold?.label)).toEqual(["/x", "/y", undefined]);
  });

  it("opens what holds most of the graph by itself", () => {
    const folded = of(pages({ "a/x/": 4, "a/y/": 3, "b/": 2 }));
    expect(keys(folded)).toEqual(["+a/x", "+a/y", "+b"]);
    expect(folded.areas.map((area) => [area.name, area.parent])).toEqual([
      ["", -1],
      ["a", 0],
    ]);
    expect(folded.items.map((item) => item.area)).toEqual([1, 1, 0]);
  });

  it("opens a group step by step, and closes it by not opening it", () => {
    const site = pages({ "a/x/p/": 310, "a/x/q/": 5, "a/y/": 3, "b/": 1500 });
    expect(keys(of(site))).toEqual(["+a", "+b"]);
    const folded = of(site, ["a/x"]);
    expect(keys(folded)).toEqual(["+a/x/p", "+a/x/q", "+a/y", "+b"]);
    expect(membersOf(folded, "a/x")).toEqual(["+a/x/p", "+a/x/q"]);
    expect(membersOf(of(site), "a/x")).toEqual([]);
    expect(of(site, ["a/x/p"]).items).toHaveLength(313); // what is around is open, too
  });

  it("opens a small group with all that it holds", () => {
    const folded = of(pages({ "a/x/p/": 3, "a/x/q/": 2, "b/": 500 }), ["a/x"]);
    expect(membersOf(folded, "a/x")).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("never draws more than there is room for, and says what stays inside", () => {
    const folded = of(pages({ "a/": 10, "b/": 30 }), ["b", "a"], 22);
    expect(folded.items.length).toBeLessThanOrEqual(22);
    expect(folded.items.reduce((all, item) => all + (item.fold?.count ?? 1), 0)).toBe(40);
    expect(foldWords(folded, 40)).toMatch(/There is no room for \d+ of [ab]/);
  });

  it("has every node once, whatever is opened", () => {
    const site = pages({ "a/": 40, "a/x/": 40, "a/x/y/": 7, "b/": 1, "c/z/": 9 });
    for (const open of [[], ["a"], ["a/."], ["a/x", "c/z"], ["a/x/y", "nothing"]]) {
      const folded = of(site, open);
      expect(folded.items.reduce((all, item) => all + (item.fold?.count ?? 1), 0)).toBe(site.length);
      expect(new Set(keys(folded)).size).toBe(folded.items.length);
      for (const [place, at] of folded.at.entries()) {
        const item = folded.items[at];
        if (!item?.fold) expect(item?.key).toBe(String(place + 1));
      }
    }
  });

  it("knows all groups and what is shown of them, and where a node is", () => {
    const folded = of(pages({ "a/x/": 4, "a/y/": 3, "b/": 20 }), ["a/y"]);
    expect(folded.groups.find((group) => group.name === "a/y")).toEqual({ name: "a/y", count: 3, shown: 3 });
    expect(folded.groups.find((group) => group.name === "a")).toEqual({ name: "a", count: 7, shown: 3 });
    expect(folded.groupOf(0)).toBe("a/x");
    expect(closedGroups(folded).map((each) => each.name)).toEqual(["b", "a/x"]);
  });

  it("gives a fold the state that most of it has", () => {
    const nodes = pages({ "a/": 3, "b/": 3 }).map((each, at) =>
      at < 2 ? { ...each, state: "failed" as const } : each,
    );
    expect(of(nodes).items.map((item) => item.fold?.leading)).toEqual(["failed", "visited"]);
  });
});
