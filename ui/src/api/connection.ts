/** Whether the server answers, as every request and every stream of this tab sees it. */
import { useSyncExternalStore } from "react";

export interface Connection {
  lostAt: number | null; // null: all is well
  needsToken: boolean;
}

let state: Connection = { lostAt: null, needsToken: false };
const listeners = new Set<() => void>();

function change(next: Partial<Connection>): void {
  const merged = { ...state, ...next };
  if (merged.lostAt === state.lostAt && merged.needsToken === state.needsToken) return;
  state = merged;
  for (const listener of listeners) listener();
}

export const connection = {
  answered: () => change({ lostAt: null }),
  lost: () => change({ lostAt: state.lostAt ?? Date.now() }),
  refused: () => change({ lostAt: null, needsToken: true }),
  admitted: () => change({ needsToken: false }),
};

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}
