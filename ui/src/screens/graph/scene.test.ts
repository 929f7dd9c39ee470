import { describe, expect, it } from "vitest";
import { indexed, node, tree } from "../../testing/graphs";
import { viewOf } from "./address";
import { clicked, doubleClicked, found } from "./choices";
import { discoveryEdges } from "./edges";
import { find } from "./find";
import { fold } from "./fold";
import { frameOf, fromMap, seen, toMap } from "./minimap";
import { within } from "./scene";
import { contents, pictureLabel, progressWords } from "./sentences";

const view = viewOf(new URLSearchParams());

describe("within", () => {
  const nodes = tree(2, 2, 1);
  const folded = fold(nodes, indexed(nodes));
  const scene = { items: folded.items, edges: discoveryEdges(nodes, indexed(nodes), folded) };
  it.each([
    [1, ["1", "2", "4", "5"]],
    [2, ["1", "2", "3", "4", "5", "8", "9"]],
    [3, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]],
  ])("goes %i steps in both directions", (steps, keys) => {
    expect([...within(scene, 1, steps)].sort()).toEqual(keys);
  });
  it("is nothing around nothing", () => expect(within(scene, -1, 2).size).toBe(0));
});

describe("find", () => {
  const nodes = [
    node(1, null, { title: "Front <script>" }),
    node(22, 1),
    node(3, 1, { url: "https://a.example/ABOUT" }),
  ];
  it("looks into URLs and titles, in any case", () => {
    expect(find("about", nodes, []).map((each) => each.key)).toEqual(["3"]);
    expect(find("<SCRIPT", nodes, []).map((each) => each.key)).toEqual(["1"]);
    expect(find(" ", nodes, [])).toEqual([]);
  });
  it("offers folds first, shortest URLs next, twenty at most", () => {
    const groups = [
      { name: "a.example", count: 9, shown: 0 },
      { name: "whole.a.example", count: 2, shown: 2 },
    ];
    expect(find("example", nodes, groups).map((each) => each.key)).toEqual(["+a.example", "3", "1", "22"]);
    const plenty = Array.from({ length: 500 }, (_, at) => node(at + 1));
    expect(find("example", plenty, [])).toHaveLength(20);
  });
});

describe("choices", () => {
  const nodes = [node(1), node(2, 1), node(3, 1, { url: "https://a.example/x/y" }), node(4, 1)];
  const folded = fold(nodes, indexed(nodes), [], 3);
  const [closed, single] = folded.items;
  it("inspects a node, focuses on it, opens a fold", () => {
    expect(clicked(single)).toEqual({ node: 3, inspect: 3 });
    expect(clicked(closed)).toBeNull();
    expect(doubleClicked(single, view)).toEqual({ node: 3, focus: 3 });
    expect(doubleClicked(closed, { ...view, open: ["/b"] })).toEqual({ open: ["/b", "/page"] });
  });
  it("takes what is found out of its fold", () => {
    const choice = { kind: "node", key: "2", id: 2, text: "", note: "" } as const;
    expect(found(choice, view, folded, 1)).toEqual({ node: 2, focus: null, open: ["/page"] });
    expect(found({ ...choice, id: 3 }, view, folded, 2)).toEqual({ node: 3, focus: null, open: [] });
  });
});

describe("the map", () => {
  const size = { width: 160, height: 120 };
  const frame = frameOf({ x: [-10, 30], y: [0, 10] }, size);
  it("leads there and back", () => {
    const place = toMap(frame, 7, 3);
    const back = fromMap(frame, place.x, place.y);
    expect([back.x, back.y]).toEqual([expect.closeTo(7), expect.closeTo(3)]);
    expect(toMap(frame, 0, 10).y).toBeLessThan(toMap(frame, 0, 0).y);
  });
  it("cuts the view off at its edges", () => {
    expect(seen(frame, { x: [-999, 999], y: [-999, 999] }, size)).toEqual({ left: 0, top: 0, ...size });
  });
});

describe("words", () => {
  it("say the counts", () => {
    expect(pictureLabel("discovery", 1, 2, "state", [{ key: "a", name: "visited", count: 1200, colour: "" }])).toBe(
      "Discovery tree with 1 node and 2 edges. By state: visited 1,200. Find any of them with the search box.",
    );
    expect(progressWords(12_000, 39_000)).toBe("12,000 of about 39,000 nodes …");
    expect(progressWords(12_000, null)).toBe("12,000 nodes …");
  });
  it("say what is not shown", () => {
    const facts = { nodes: 200_000, drawn: 50_000, hidden: 3, edges: 9, left: 5, links: 2_000_000 };
    const lines = contents({ ...facts, kind: "links", cut: true, linksCut: true, linksRead: false });
    expect(lines).toHaveLength(6);
    expect(lines.join(" ")).toContain("200,000 URLs");
  });
});
