import { describe, expect, it, vi } from "vitest";
import type { GraphNode } from "../../api/types";
import { node } from "../../testing/graphs";
import type { Kind } from "./address";
import { GraphData, type Read } from "./graphData";

/** A server with pages of this many rows, which a test may change. */
function server(size: number) {
  const nodes: GraphNode[] = [];
  const links = new Map<number, number[]>();
  const asked: string[] = [];
  const read: Read = vi.fn(async (kind: Kind, after: number) => {
    asked.push(`${kind} ${after}`);
    if (kind === "discovery") {
      const page = nodes.filter((each) => each.id > after).slice(0, size);
      return { nodes: page.map((each) => ({ ...each })), edges: [], next: page.at(-1)?.id ?? null };
    }
    const page = [...links]
      .sort((a, b) => a[0] - b[0])
      .filter(([source]) => source > after)
      .slice(0, size);
    const edges = page.flatMap(([source, targets]) => targets.map((target) => [source, target]));
    return { nodes: [], edges, next: page.at(-1)?.[0] ?? null };
  });
  return { nodes, links, asked, read };
}

const signal = () => new AbortController().signal;

describe("GraphData", () => {
  it("reads page after page, then only what is new", async () => {
    const { nodes, asked, read } = server(2);
    nodes.push(node(1), node(2, 1), node(5, 1));
    const data = new GraphData(read);
    const told = vi.fn();
    data.subscribe(told);
    await data.refresh("discovery", signal(), false);
    expect(data.nodes.map((each) => each.id)).toEqual([1, 2, 5]);
    expect(data.nodesRead).toBe(true);
    expect(asked).toEqual(["discovery 0", "discovery 2", "discovery 5"]);
    nodes.push(node(9, 5));
    await data.refresh("discovery", signal(), false);
    expect(asked.slice(3)).toEqual(["discovery 5", "discovery 9"]);
    expect(data.nodeOf(9)?.parent).toBe(5);
    expect(told).toHaveBeenCalledTimes(4);
  });

  it("reads a page with open nodes again, and changes them in place", async () => {
    const { nodes, read } = server(5000);
    nodes.push(node(1), node(2, 1, { state: "queued", status: null }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    nodes[1] = node(2, 1, { title: "Two" });
    await data.refresh("discovery", signal(), false);
    expect(data.nodes).toHaveLength(2);
    expect(data.nodes[1]).toMatchObject({ state: "visited", title: "Two" });
  });

  it("does not tell when nothing has changed", async () => {
    const { nodes, read } = server(10);
    nodes.push(node(1, null, { state: "in_progress" }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    const { version } = data;
    await data.refresh("discovery", signal(), false);
    expect(data.version).toBe(version);
  });

  it("reads at most three earlier pages again, each in its turn", async () => {
    const { nodes, asked, read } = server(5000);
    for (let id = 1; id <= 25_000; id++) nodes.push(node(id, null, { state: "queued" }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    const turns: string[] = [];
    for (let turn = 0; turn < 2; turn++) {
      asked.length = 0;
      await data.refresh("discovery", signal(), false);
      turns.push(asked.slice(1).join());
    }
    expect(turns).toEqual([
      "discovery 15000,discovery 20000,discovery 0",
      "discovery 5000,discovery 10000,discovery 15000",
    ]);
  });

  it("reads everything once more when the crawl is over, then nothing", async () => {
    const { nodes, asked, read } = server(5000);
    for (let id = 1; id <= 21_000; id++) nodes.push(node(id, null, { state: "queued" }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    for (const each of nodes) each.state = "cancelled";
    await data.refresh("discovery", signal(), true);
    expect(data.nodes.every((each) => each.state === "cancelled")).toBe(true);
    asked.length = 0;
    await data.refresh("discovery", signal(), true);
    expect(asked).toEqual([]);
  });

  it("reads links of pages that have ended since", async () => {
    const { nodes, links, read } = server(10);
    nodes.push(node(1), node(2, 1, { state: "queued" }), node(3, 1));
    links.set(1, [2, 3]).set(3, [1]);
    const data = new GraphData(read);
    await data.refresh("links", signal(), false);
    expect(data.links.count).toBe(3);
    nodes[1] = node(2, 1);
    links.set(2, [1, 3, 9]);
    await data.refresh("links", signal(), false);
    expect(data.links.out[1]).toEqual(Int32Array.of(0, 2));
    nodes.push(node(9, 2));
    await data.refresh("links", signal(), false);
    expect(data.links.out[1]).toEqual(Int32Array.of(0, 2, 3));
    expect([...data.links.inLinks(4)]).toEqual([2, 1, 2, 1]);
    expect(data.links.sourcesOf(0)).toEqual([1, 2]);
  });

  it("keeps what it has when the server fails, and says so", async () => {
    const { nodes, read } = server(10);
    nodes.push(node(1));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    vi.mocked(read).mockRejectedValueOnce(new Error("gone"));
    await data.refresh("discovery", signal(), false);
    expect(data.error).toEqual(new Error("gone"));
    expect(data.nodes).toHaveLength(1);
    await data.refresh("discovery", signal(), false);
    expect(data.error).toBeNull();
  });

  it("takes nothing from an answer that comes after its end", async () => {
    const stop = new AbortController();
    const data = new GraphData(async () => {
      stop.abort();
      return { nodes: [node(1)], edges: [], next: 1 };
    });
    await data.refresh("discovery", stop.signal, false);
    expect(data.nodes).toHaveLength(0);
    expect(data.error).toBeNull();
  });
});
