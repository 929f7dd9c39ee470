import { describe, expect, it } from "vitest";
import { indexed, node, tree } from "../../testing/graphs";
import { viewOf } from "./address";
import { clicked, closed, doubleClicked, found, openedBy } from "./choices";
import { discoveryEdges } from "./edges";
import { find } from "./find";
import { fold } from "./fold";
import { frameOf, fromMap, seen, toMap } from "./minimap";
import { neighbours, sceneOf, stressOf, within } from "./scene";
import { contents, pictureLabel, progressWords } from "./sentences";

const view = viewOf(new URLSearchParams());

describe("within", () => {
  const nodes = tree(2, 2, 1);
  const folded = fold(nodes, indexed(nodes));
  const scene = sceneOf(folded, discoveryEdges(nodes, indexed(nodes), folded));
  it.each([
    [1, ["1", "2", "4", "5"]],
    [2, ["1", "2", "3", "4", "5", "8", "9"]],
    [3, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]],
  ])("goes %i steps in both directions", (steps, keys) => {
    expect([...within(scene, 1, steps)].sort()).toEqual(keys);
  });
  it("knows all neighbours, the most linked first", () => {
    const all = { pairs: Int32Array.of(0, 1, 2, 0, 1, 2), weights: Float32Array.of(1, 5, 2), inside: 0 };
    expect(neighbours({ ...scene, all }, 0)).toEqual([
      { place: 2, weight: 5 },
      { place: 1, weight: 1 },
    ]);
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
  it("offers groups first, shortest URLs next, twenty at most", () => {
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
  const folded = fold(nodes, indexed(nodes), [], { whole: 3, drawn: 100 });
  const [group, single] = folded.items;
  it("inspects a node, focuses on it, opens a group", () => {
    expect(clicked(single)).toEqual({ node: 3, inspect: 3 });
    expect(clicked(group)).toBeNull();
    expect(doubleClicked(single)).toEqual({ node: 3, focus: 3 });
    expect(doubleClicked(group)).toBeNull();
    expect(openedBy("a.example/page", { ...view, open: ["b"], focus: 3 })).toEqual({
      open: ["b", "a.example/page"],
      focus: null,
    });
  });
  it("closes a group with all that was opened in it", () => {
    expect(closed(["a/b", "a/bc", "a/b/c", "d"], "a/b")).toEqual(["a/bc", "d"]);
  });
  it("takes what is found out of its group", () => {
    expect(found(2, view, folded, 1)).toEqual({ node: 2, focus: null, open: ["a.example/page"] });
    expect(found(3, view, folded, 2)).toEqual({ node: 3, focus: null, open: [] });
    expect(found(9, view, folded, undefined)).toEqual({ node: 9, focus: null, open: [] });
  });
  it("gives a page that many lead to more of its room, a group all of it", () => {
    expect(group && stressOf(group, 1e6)).toBe(1);
    expect(single && [0, 7, 1e9].map((weight) => stressOf(single, weight))).toEqual([0.8, expect.closeTo(1.1), 1.6]);
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
  const facts: Parameters<typeof contents>[0] = {
    ...{ nodes: 4000, drawn: 4000, hidden: 0, lines: 9, shown: 9, weaker: 0, inside: 0, all: 400_000, grouped: false },
    ...{ links: 400_000, kind: "links" as const, cut: false, linksCut: false, linksRead: true },
  };
  it("say the counts", () => {
    expect(pictureLabel("discovery", 1, 2, "state", [{ key: "a", name: "visited", count: 1200, colour: "" }])).toBe(
      "Discovery tree with 1 node and 2 edges. By state: visited 1,200. Find any of them with the search box.",
    );
    expect(progressWords(12_000, 39_000)).toBe("12,000 of about 39,000 nodes …");
    expect(progressWords(12_000, null)).toBe("12,000 nodes …");
  });
  it("say what is not shown", () => {
    const lines = contents({ ...facts, hidden: 3, nodes: 200_000, cut: true, linksCut: true, linksRead: false });
    expect(lines).toHaveLength(5);
    expect(lines.join(" ")).toContain("200,000 URLs");
  });
  it.each([
    [{}, "4,000 nodes, 9 links"],
    [{ kind: "discovery" }, "4,000 nodes, 9 edges"],
    [
      { lines: 20_000, weaker: 380_000 },
      "4,000 nodes, showing the 20,000 strongest of 400,000 links; 380,000 weaker lines left out",
    ],
    [
      { grouped: true, drawn: 16, nodes: 32_009, lines: 60, shown: 136_609, weaker: 1, inside: 242_610 },
      "16 groups and pages for 32,009 nodes, 60 lines for 136,609 of 400,000 links; 242,610 are inside of groups; 1 weaker line left out",
    ],
    [
      { grouped: true, kind: "discovery", drawn: 2, lines: 1, shown: 5, inside: 7, all: 12 },
      "2 groups and pages for 4,000 nodes, 1 line for 5 of 12 edges; 7 are inside of groups",
    ],
  ] as const)("say of %j: %s", (more, words) => {
    const said = contents({ ...facts, ...more }).join("; ");
    expect(said.replace(": come nearer, or point at a node to see all of its own", "")).toBe(words);
  });
});
