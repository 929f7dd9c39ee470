import { describe, expect, it } from "vitest";
import { indexed, node } from "../../testing/graphs";
import { discoveryEdges, fairShare, linkEdges } from "./edges";
import { fold, foldWords, OTHERS } from "./fold";

const hosts = (...sizes: number[]) =>
  sizes.flatMap((size, host) =>
    Array.from({ length: size }, (_, at) =>
      node(host * 100 + at + 1, at || host ? (at ? host * 100 + 1 : 1) : null, {
        domain: `h${host}.example`,
        url: `https://h${host}.example/${at}`,
      }),
    ),
  );
const of = (nodes: ReturnType<typeof hosts>, open: string[], bound: number) => fold(nodes, indexed(nodes), open, bound);

describe("fold", () => {
  it("leaves what fits as it is", () => {
    const nodes = hosts(3, 2);
    const folded = of(nodes, [], 5);
    expect(folded.items.map((item) => item.key)).toEqual(["1", "2", "3", "101", "102"]);
    expect(folded.items.map((item) => item.parent)).toEqual([-1, 0, 0, 0, 3]);
    expect(foldWords(folded, 5)).toBe("");
  });

  it("makes one node of each host above the bound", () => {
    const nodes = hosts(4, 3, 1);
    const folded = of(nodes, [], 5);
    expect(folded.items.map((item) => item.key)).toEqual(["+h0.example", "+h1.example", "201"]);
    expect(folded.items.map((item) => item.fold?.count)).toEqual([4, 3, undefined]);
    expect(folded.items.map((item) => item.parent)).toEqual([-1, 0, 0]);
    expect([...folded.at]).toEqual([0, 0, 0, 0, 1, 1, 1, 2]);
  });

  it("opens one, and closes it by not opening it", () => {
    const nodes = hosts(4, 3, 1);
    const folded = of(nodes, ["h1.example"], 6);
    expect(folded.items.map((item) => item.key)).toEqual(["+h0.example", "101", "102", "103", "201"]);
    expect(folded.groups.find((group) => group.name === "h1.example")).toMatchObject({ count: 3, shown: 3 });
  });

  it("never shows more than the bound, and says what stays inside", () => {
    const nodes = hosts(10, 30);
    const folded = of(nodes, ["h1.example", "h0.example"], 12);
    expect(folded.items.length).toBeLessThanOrEqual(12);
    expect(folded.items.reduce((all, item) => all + (item.fold?.count ?? 1), 0)).toBe(40);
    expect(foldWords(folded, 40, 12)).toContain("h1.example 10 of 30");
  });

  it("puts the smallest of too many hosts together", () => {
    const nodes = hosts(5, 4, 1, 1, 1, 1, 1, 1);
    const folded = of(nodes, [], 6);
    expect(folded.items.map((item) => item.group)).toEqual(["h0.example", "h1.example", "h2.example", OTHERS]);
    expect(folded.items.at(-1)?.fold?.count).toBe(5);
  });

  it("folds folders when there is one host", () => {
    const nodes = Array.from({ length: 6 }, (_, at) =>
      node(at + 1, null, { url: `https://a.example/f${at % 2}/${at}` }),
    );
    expect(of(nodes, [], 3).items.map((item) => item.key)).toEqual(["+/f0", "+/f1"]);
  });

  it("gives a fold the state that most of it has", () => {
    const nodes = hosts(3, 3).map((each, place) => (place < 2 ? { ...each, state: "failed" as const } : each));
    expect(of(nodes, [], 4).items.map((item) => item.fold?.leading)).toEqual(["failed", "visited"]);
  });
});

describe("edges", () => {
  it("are counted between folds, and never lead to themselves", () => {
    const nodes = hosts(4, 3);
    const folded = of(nodes, [], 4);
    const edges = discoveryEdges(nodes, indexed(nodes), folded);
    expect([...edges.pairs]).toEqual([0, 1]);
    const links = linkEdges([Int32Array.of(1, 4, 5), undefined, undefined, undefined, Int32Array.of(0)], folded);
    expect([...links.pairs]).toEqual([0, 1, 1, 0]);
    expect([...links.weights]).toEqual([2, 1]);
  });

  it.each([
    [[3, 3, 3], 9, 3],
    [[10, 1, 1], 6, 4],
    [[5, 5, 5], 2, 0],
    [[], 5, 0],
  ])("gives each of %j a fair share of %i", (lengths, bound, share) => expect(fairShare(lengths, bound)).toBe(share));

  it("says how many links are left out", () => {
    const nodes = hosts(4);
    const links = linkEdges([Int32Array.of(1, 2, 3), Int32Array.of(0)], of(nodes, [], 9), 3);
    expect(links.weights).toHaveLength(3);
    expect(links.left).toBe(1);
  });
});
