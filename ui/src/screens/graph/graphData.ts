/**
 * The graph of a crawl as this tab knows it. It reads keyset pages, adds what is new and updates what has changed in
 * place. It knows nothing of React, of pictures or of layouts.
 */
import type { GraphNode } from "../../api/types";
import { OPEN } from "../../words/states";
import type { Kind } from "./address";
import { Chunks } from "./chunks";
import { LinkStore } from "./linkStore";

export const LOADED_MAX = 200_000;
export const LINKS_MAX = 2_000_000;
export const PAGE: Record<Kind, number> = { discovery: 5000, links: 1000 };
const TELL_MS = 1000; // between pictures of a first reading of links: each of them is work
const AGAIN_MAX = 3; // earlier pages that one refresh reads again

export interface Answer {
  nodes: readonly GraphNode[];
  edges: readonly (readonly number[])[]; // from, to
  next: number | null;
}

export type Read = (kind: Kind, after: number, signal: AbortSignal) => Promise<Answer>;

const open = (node: GraphNode) => OPEN.has(node.state);

function same(a: GraphNode, b: GraphNode): boolean {
  return (
    a.state === b.state &&
    a.title === b.title &&
    a.status === b.status &&
    a.depth === b.depth &&
    a.parent === b.parent &&
    a.ip === b.ip
  );
}

export class GraphData {
  readonly nodes: GraphNode[] = [];
  readonly links = new LinkStore((id) => this.indexOf(id));
  version = 0;
  nodesRead = false; // to their end, once
  linksRead = false;
  error: unknown = null; // of the last refresh

  private readonly index = new Map<number, number>();
  private readonly chunkOf: number[] = []; // of each node
  private readonly pages = new Chunks(PAGE.discovery);
  private readonly linkPages = new Chunks(PAGE.links);
  private after = 0;
  private linkAfter = 0;
  private readonly ended = { discovery: false, links: false }; // read to the end of a crawl that is over
  private readonly listeners = new Set<() => void>();

  constructor(private readonly read: Read) {}

  readonly indexOf = (id: number): number | undefined => this.index.get(id);

  nodeOf(id: number): GraphNode | undefined {
    const place = this.index.get(id);
    return place === undefined ? undefined : this.nodes[place];
  }

  get cut(): boolean {
    return this.nodes.length >= LOADED_MAX;
  }

  get linksCut(): boolean {
    return this.links.count >= LINKS_MAX;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** What is new at the end, and a few earlier pages that may have changed. `over`: nothing changes after this. */
  async refresh(kind: Kind, signal: AbortSignal, over: boolean): Promise<void> {
    try {
      if (!over) this.ended.discovery = this.ended.links = false;
      await this.readNodes(signal, over);
      await this.readAgain(signal, over);
      if (kind === "links") {
        await this.readLinks(signal, over);
        await this.readLinksAgain(signal, over);
      }
      this.fail(null);
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  private fail(error: unknown): void {
    if (this.error === error) return;
    this.error = error;
    this.tell();
  }

  private tell(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }

  private async readNodes(signal: AbortSignal, over: boolean): Promise<void> {
    while (!this.cut && !this.ended.discovery) {
      const { nodes, next } = await this.ask("discovery", this.after, signal);
      if (next === null) {
        this.ended.discovery = over;
        break;
      }
      const chunk = this.pages.grow(this.after, next, nodes.length, over);
      this.after = next;
      if (this.merge(nodes, chunk)) this.tell();
    }
    if (this.nodesRead) return;
    this.nodesRead = true;
    this.tell();
  }

  private async readAgain(signal: AbortSignal, over: boolean): Promise<void> {
    const opens = new Uint32Array(this.pages.list.length);
    for (const [place, node] of this.nodes.entries()) {
      const chunk = this.chunkOf[place] ?? 0;
      if (open(node)) opens[chunk] = (opens[chunk] ?? 0) + 1;
    }
    const most = over ? this.pages.list.length : AGAIN_MAX;
    for (const place of this.pages.due(most, (chunk, at) => (opens[at] ?? 0) > 0 && !chunk.over)) {
      const chunk = this.pages.list[place];
      if (!chunk) continue;
      for (let from = chunk.after; from < chunk.last; ) {
        const { nodes, next } = await this.ask("discovery", from, signal);
        if (this.merge(nodes, place)) this.tell();
        from = next ?? chunk.last; // rows that are no pages count as well, so one answer may not reach its end
      }
      chunk.over = over;
    }
  }

  private async readLinks(signal: AbortSignal, over: boolean): Promise<void> {
    let told = performance.now();
    let changed = false;
    while (!this.linksCut && !this.ended.links) {
      const { edges, next } = await this.ask("links", this.linkAfter, signal);
      if (next === null) {
        this.ended.links = over;
        break;
      }
      this.linkPages.grow(this.linkAfter, next, PAGE.links, over);
      this.linkAfter = next;
      changed = this.links.put(edges) || changed;
      if (!changed || performance.now() - told < TELL_MS) continue;
      told = performance.now();
      changed = false;
      this.tell();
    }
    if (!changed && this.linksRead) return;
    this.linksRead = true;
    this.tell();
  }

  /** Pages that ended since have links now: their chunks were marked by `merge`. */
  private async readLinksAgain(signal: AbortSignal, over: boolean): Promise<void> {
    const most = over ? this.linkPages.list.length : AGAIN_MAX;
    // From the back, for one that is cut in two moves those behind it.
    for (const place of this.linkPages.due(most, (chunk) => chunk.stale).reverse()) {
      const chunk = this.linkPages.list[place];
      if (!chunk || this.linksCut) continue;
      chunk.stale = false;
      const { edges, next } = await this.ask("links", chunk.after, signal).catch((error) => {
        chunk.stale = true;
        throw error;
      });
      if (next !== null && next < chunk.last) {
        chunk.stale = true;
        this.linkPages.cut(place, next);
        chunk.stale = false;
      }
      if (this.links.put(edges)) this.tell();
    }
  }

  private async ask(kind: Kind, after: number, signal: AbortSignal): Promise<Answer> {
    const answer = await this.read(kind, after, signal);
    signal.throwIfAborted();
    return answer;
  }

  private merge(nodes: readonly GraphNode[], chunk: number): boolean {
    let changed = false;
    let added = false;
    for (const node of nodes) {
      const place = this.index.get(node.id);
      const before = place === undefined ? undefined : this.nodes[place];
      if (place === undefined || !before) {
        if (this.cut) continue;
        this.index.set(node.id, this.nodes.push(node) - 1);
        this.chunkOf.push(chunk);
        added = true;
      } else if (!same(before, node)) {
        this.nodes[place] = node;
        changed = true;
      }
      if (!open(node) && (!before || open(before))) this.linksChanged(node.id);
    }
    if (added) this.links.resolve();
    return changed || added;
  }

  private linksChanged(id: number): void {
    const chunk = this.linkPages.list[this.linkPages.placeOf(id)];
    if (chunk) chunk.stale = true;
  }
}
