import { describe, expect, it, vi } from "vitest";
import type { GraphNode } from "../../api/types";
import { node } from "../../testing/graphs";
import type { Kind } from "./address";
import { GraphData, LOADED_MAX, type Read } from "./graphData";

/** A server that tells changes in pages of this many; its places are places in the list of changes. */
function server(size: number) {
  const changes: GraphNode[] = []; // a node that changed stands here again
  const links: [number, number[]][] = [];
  const asked: string[] = [];
  const read: Read = vi.fn(async (kind: Kind, after: number) => {
    asked.push(`${kind} ${after}`);
    const all = kind === "discovery" ? changes.length : links.length;
    const next = Math.min(after + size, all);
    const edges = links.slice(after, next).flatMap(([source, targets]) => targets.map((target) => [source, target]));
    return {
      nodes: kind === "discovery" ? changes.slice(after, next) : [],
      edges: kind === "links" ? edges : [],
      next: next > after ? next : null,
    };
  });
  return { changes, links, asked, read };
}

const signal = () => new AbortController().signal;

describe("GraphData", () => {
  it("reads page after page, then only what is new", async () => {
    const { changes, asked, read } = server(2);
    changes.push(node(1), node(2, 1), node(5, 1));
    const data = new GraphData(read);
    const told = vi.fn();
    data.subscribe(told);
    await data.refresh("discovery", signal(), false);
    expect(data.nodes.map((each) => each.id)).toEqual([1, 2, 5]);
    expect(data.nodesRead).toBe(true);
    expect(asked).toEqual(["discovery 0", "discovery 2", "discovery 3"]);
    changes.push(node(9, 5));
    await data.refresh("discovery", signal(), false);
    expect(asked.slice(3)).toEqual(["discovery 3", "discovery 4"]);
    expect(data.nodeOf(9)?.parent).toBe(5);
    expect(told).toHaveBeenCalledTimes(4);
  });

  it("takes nodes in any order of their ids", async () => {
    const { changes, read } = server(2);
    changes.push(node(40), node(41, 40));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    changes.push(node(7, 40)); // committed later, with a lower id
    await data.refresh("discovery", signal(), false);
    expect(data.nodes.map((each) => each.id)).toEqual([40, 41, 7]);
  });

  it("changes a node that comes again in place", async () => {
    const { changes, read } = server(5000);
    changes.push(node(1), node(2, 1, { state: "queued", status: null }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    changes.push(node(2, 1, { title: "Two" }));
    await data.refresh("discovery", signal(), false);
    expect(data.nodes).toHaveLength(2);
    expect(data.nodes[1]).toMatchObject({ state: "visited", title: "Two" });
  });

  it("takes nodes that are being fetched from an answer without a next place", async () => {
    const fetched = node(2, 1, { state: "in_progress" });
    const data = new GraphData(async (_, after) =>
      after === 0
        ? { nodes: [node(1), node(2, 1, { state: "queued" })], edges: [], next: 2 }
        : { nodes: [fetched], edges: [], next: null },
    );
    await data.refresh("discovery", signal(), false);
    expect(data.nodeOf(2)).toEqual(fetched);
  });

  it("does not tell when nothing has changed", async () => {
    const { changes, read } = server(10);
    changes.push(node(1, null, { state: "in_progress" }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    const { version } = data;
    changes.push(node(1, null, { state: "in_progress" }));
    await data.refresh("discovery", signal(), false);
    expect(data.version).toBe(version);
  });

  it("reads to the end when the crawl is over, then nothing", async () => {
    const { changes, asked, read } = server(5000);
    for (let id = 1; id <= 21_000; id++) changes.push(node(id, null, { state: "queued" }));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    for (let id = 1; id <= 21_000; id++) changes.push(node(id, null, { state: "cancelled" }));
    await data.refresh("discovery", signal(), true);
    expect(data.nodes.every((each) => each.state === "cancelled")).toBe(true);
    asked.length = 0;
    await data.refresh("discovery", signal(), true);
    expect(asked).toEqual([]);
  });

  it("reads a few pages a time for changes when it has all nodes that it takes", async () => {
    const { changes, asked, read } = server(5000);
    for (let id = 1; id <= LOADED_MAX; id++) changes.push(node(id, null, { state: "queued" }));
    for (let id = 1; id <= 30_000; id++) changes.push(node(id + LOADED_MAX));
    for (let id = 1; id <= LOADED_MAX; id++) changes.push(node(id));
    const data = new GraphData(read);
    await data.refresh("discovery", signal(), false);
    asked.length = 0;
    await data.refresh("discovery", signal(), false);
    expect(asked).toHaveLength(3);
    await data.refresh("discovery", signal(), true);
    expect(data.nodes.every((each) => each.state === "visited")).toBe(true);
    expect(data.nodes).toHaveLength(LOADED_MAX);
  });

  it("reads links of pages that have ended since", async () => {
    const { changes, links, read } = server(10);
    changes.push(node(1), node(2, 1, { state: "queued" }), node(3, 1));
    links.push([1, [2, 3]], [3, [1]]);
    const data = new GraphData(read);
    await data.refresh("links", signal(), false);
    expect(data.links.count).toBe(3);
    changes.push(node(2, 1));
    links.push([2, [1, 3, 9]]);
    await data.refresh("links", signal(), false);
    expect(data.links.out[1]).toEqual(Int32Array.of(0, 2));
    changes.push(node(9, 2));
    await data.refresh("links", signal(), false);
    expect(data.links.out[1]).toEqual(Int32Array.of(0, 2, 3));
    expect([...data.links.inLinks(4)]).toEqual([2, 1, 2, 1]);
    expect(data.links.sourcesOf(0)).toEqual([1, 2]);
  });

  it("keeps links of a page that ended between the reading of nodes and of links", async () => {
    const { changes, links, read } = server(10);
    changes.push(node(1));
    links.push([5, [1]]);
    const data = new GraphData(read);
    await data.refresh("links", signal(), false);
    expect(data.links.count).toBe(0);
    changes.push(node(5, 1));
    await data.refresh("links", signal(), false);
    expect(data.links.out[1]).toEqual(Int32Array.of(0));
  });

  it("keeps what it has when the server fails, and says so", async () => {
    const { changes, read } = server(10);
    changes.push(node(1));
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
