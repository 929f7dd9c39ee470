/** The links of each page, as numbers of nodes: a page's links come all at once, so they are replaced as a whole. */

export class LinkStore {
  readonly out: (Int32Array | undefined)[] = [];
  count = 0;
  private readonly waiting = new Map<number, number[]>(); // ids of targets that are not known yet, by source

  private readonly early = new Map<number, ReadonlySet<number>>(); // of pages that ended before their node was read

  constructor(private readonly indexOf: (id: number) => number | undefined) {}

  /** Edges of one answer, by their sources. `growing`: those of unknown nodes are kept for them. */
  put(edges: readonly (readonly number[])[], growing: boolean): boolean {
    const bySource = new Map<number, Set<number>>();
    for (const [source = 0, target = 0] of edges) {
      const found = bySource.get(source);
      if (found) found.add(target);
      else bySource.set(source, new Set([target]));
    }
    let changed = false;
    for (const [source, targets] of bySource) {
      if (this.indexOf(source) !== undefined) changed = this.set(source, targets) || changed;
      else if (growing) this.early.set(source, targets);
    }
    return changed;
  }

  /** New nodes may be what links were waiting for. */
  resolve(): boolean {
    let changed = false;
    for (const [source, targets] of [...this.early]) {
      if (this.indexOf(source) === undefined) continue;
      this.early.delete(source);
      changed = this.set(source, targets) || changed;
    }
    for (const [source, ids] of [...this.waiting]) {
      const found = ids.filter((id) => this.indexOf(id) !== undefined);
      if (!found.length) continue;
      const before = this.out[source] ?? new Int32Array(0);
      this.keep(source, [...before, ...found.map((id) => this.indexOf(id) ?? -1)]);
      this.wait(
        source,
        ids.filter((id) => this.indexOf(id) === undefined),
      );
      changed = true;
    }
    return changed;
  }

  /** Links to each node. */
  inLinks(nodes: number): Uint32Array {
    const found = new Uint32Array(nodes);
    for (const targets of this.out) for (const target of targets ?? []) found[target] = (found[target] ?? 0) + 1;
    return found;
  }

  sourcesOf(target: number): number[] {
    const found: number[] = [];
    for (const [source, targets] of this.out.entries()) if (targets?.includes(target)) found.push(source);
    return found;
  }

  private set(sourceId: number, targets: ReadonlySet<number>): boolean {
    const source = this.indexOf(sourceId);
    if (source === undefined) return false;
    const known: number[] = [];
    const unknown: number[] = [];
    for (const id of targets) {
      const index = this.indexOf(id);
      if (index === undefined) unknown.push(id);
      else known.push(index);
    }
    const before = this.out[source];
    this.wait(source, unknown);
    if (before && before.length === known.length && before.every((index, place) => index === known[place]))
      return false;
    this.keep(source, known);
    return true;
  }

  private keep(source: number, targets: readonly number[]): void {
    this.count += targets.length - (this.out[source]?.length ?? 0);
    this.out[source] = Int32Array.from(targets);
  }

  private wait(source: number, ids: readonly number[]): void {
    if (ids.length) this.waiting.set(source, [...ids]);
    else this.waiting.delete(source);
  }
}
