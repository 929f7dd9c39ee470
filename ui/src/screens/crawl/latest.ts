/** Rows that come in by themselves must not move under somebody who looks at them. */

interface Row {
  id: number;
}

/** What is shown while it is held: the same rows in the same places, each as it is now. */
export function heldRows<T extends Row>(shown: readonly T[], fresh: readonly T[]): readonly T[] {
  const now = new Map(fresh.map((row) => [row.id, row]));
  return shown.map((row) => now.get(row.id) ?? row);
}

export function newRows(shown: readonly Row[], fresh: readonly Row[]): number {
  const known = new Set(shown.map(({ id }) => id));
  return fresh.filter(({ id }) => !known.has(id)).length;
}

/** All of a page being new, there may be more than the page holds. */
export function newText(found: number, limit: number): string {
  return found >= limit ? `${limit} or more new` : `${found} new`;
}
