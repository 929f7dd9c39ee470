/**
 * The graph of a crawl as this tab knows it. It follows the changes of the crawl: adds what is new and updates what has
 * changed in place. It knows nothing of React, of pictures or of layouts.
 */
import type { GraphNode } from "../../api/types";
import { OPEN } from "../../words/states";
import type { Kind } from "./address";
import { LinkStore } from "./linkStore";

export const LOADED_MAX = 200_000;
export const LINKS_MAX = 2_000_000;
export const PAGE: Record<Kind, number> = { discovery: 5000, links: 1000 };
const CUT_PAGES = 3; // pages that one refresh reads only for changes, where no more nodes are loaded
const TELL_MS = 1000; // between pictures of a first reading of links: each of them is work

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
  nodesVersion = 0; // of the nodes alone: links come in many pages, and what the nodes say stays
  nodesRead = false; // to their end, once
  linksRead = false;
  error: unknown = null; // of the last refresh

  private readonly index = new Map<number, number>();
  private opens = 0; // nodes that are not at their end
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

  /** What has changed since the last one. `over`: nothing changes after this. */
  async refresh(kind: Kind, signal: AbortSignal, over: boolean): Promise<void> {
    try {
      if (!over) this.ended.discovery = this.ended.links = false;
      await this.readNodes(signal, over);
      if (kind === "links") await this.readLinks(signal, over);
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
    for (let pages = 0; !this.ended.discovery; pages++) {
      if (this.cut && (this.opens === 0 || (!over && pages >= CUT_PAGES))) break;
      const { nodes, next } = await this.ask("discovery", this.after, signal);
      if (this.merge(nodes)) {
        this.nodesVersion += 1;
        this.tell();
      }
      if (next === null) {
        this.ended.discovery = over;
        break;
      }
      this.after = next;
    }
    if (this.nodesRead) return;
    this.nodesRead = true;
    this.tell();
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
      this.linkAfter = next;
      changed = this.links.put(edges, !this.cut) || changed;
      if (!changed || performance.now() - told < TELL_MS) continue;
      told = performance.now();
      changed = false;
      this.tell();
    }
    if (!changed && this.linksRead) return;
    this.linksRead = true;
    this.tell();
  }

  private async ask(kind: Kind, after: number, signal: AbortSignal): Promise<Answer> {
    const answer = await this.read(kind, after, signal);
    signal.throwIfAborted();
    return answer;
  }

  private merge(nodes: readonly GraphNode[]): boolean {
    let changed = false;
    let added = false;
    for (const node of nodes) {
      const place = this.index.get(node.id);
      const before = place === undefined ? undefined : this.nodes[place];
      if (place === undefined || !before) {
        if (this.cut) continue;
        this.index.set(node.id, this.nodes.push(node) - 1);
        this.opens += Number(open(node));
        added = true;
      } else if (!same(before, node)) {
        this.nodes[place] = node;
        this.opens += Number(open(node)) - Number(open(before));
        changed = true;
      }
    }
    if (added) this.links.resolve();
    return changed || added;
  }
}
