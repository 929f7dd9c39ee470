/** Rows that are looked at stay where they are while the crawl goes on. */

interface Row {
  id: number;
}

/** Pages of a sorted list overlap when rows move between two requests. */
export function unique<R extends Row>(rows: readonly R[]): R[] {
  const seen = new Set<number>();
  return rows.filter((row) => !seen.has(row.id) && seen.add(row.id));
}

/** Whether all shown rows are where they were, with new ones only below them. */
function continues(shown: readonly Row[], fresh: readonly Row[]): boolean {
  return shown.length <= fresh.length && shown.every((row, at) => fresh[at]?.id === row.id);
}

export interface Steady<R> {
  rows: readonly R[];
  waiting: number; // rows that are not shown yet
}

/** The shown rows in their places, with their newest values. */
export function steady<R extends Row>(shown: readonly R[], fresh: readonly R[]): Steady<R> {
  if (continues(shown, fresh)) return { rows: fresh, waiting: 0 };
  const now = new Map(fresh.map((row) => [row.id, row]));
  const known = new Set(shown.map((row) => row.id));
  return {
    rows: shown.map((row) => now.get(row.id) ?? row),
    waiting: fresh.filter((row) => !known.has(row.id)).length,
  };
}
