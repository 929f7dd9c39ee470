/** A message about what was just done, for a few seconds, also for screen readers. */
import { useSyncExternalStore } from "react";

const SHOWN_MS = 4000;
let text = "";
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function show(next: string): void {
  text = next;
  for (const listener of listeners) listener();
}

export function notice(words: string): void {
  clearTimeout(timer);
  show(words);
  timer = setTimeout(() => show(""), SHOWN_MS);
}

export function Notice() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => text,
  );
  return (
    <div role="status" className="pointer-events-none fixed bottom-4 left-1/2 z-50 -translate-x-1/2">
      {shown && <p className="rounded border border-line bg-raised px-3 py-2 shadow-lg">{shown}</p>}
    </div>
  );
}
