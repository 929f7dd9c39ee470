/** Errors as they are shown: held still while new ones come, filtered by what is typed. */
import type { ErrorNote } from "../../api/types";

export const LIMIT = 200;

/** How many errors came after those shown: ids only grow. */
export function newer(shown: readonly ErrorNote[], latest: readonly ErrorNote[]): number {
  const top = shown[0]?.id ?? 0;
  return latest.filter(({ id }) => id > top).length;
}

/** Kinds of errors by how often they occur, then by name. */
export function reasonsOf(errors: readonly ErrorNote[]): [reason: string, times: number][] {
  const times = new Map<string, number>();
  for (const { reason } of errors) times.set(reason, (times.get(reason) ?? 0) + 1);
  return [...times].sort(([a, n], [b, m]) => m - n || a.localeCompare(b));
}

export function matchingErrors(errors: readonly ErrorNote[], reason: string, text: string): ErrorNote[] {
  const wanted = text.trim().toLowerCase();
  return errors.filter(
    (error) =>
      (!reason || error.reason === reason) &&
      [error.url, error.detail, error.reason].some((part) => part.toLowerCase().includes(wanted)),
  );
}
