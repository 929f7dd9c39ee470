import { useSyncExternalStore } from "react";
import { ago, dateTime, exactly } from "../words/format";

const SECOND = 1000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** One clock for the whole page; it stops while the page is hidden. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, SECOND);
  }
  return () => {
    listeners.delete(listener);
    if (!listeners.size) clearInterval(timer);
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

interface Props {
  at: string | null | undefined; // ISO
  relative?: boolean;
}

/** Local time, the exact one on hover. */
export function Moment({ at, relative = false }: Props) {
  const ms = Date.parse(at ?? "");
  if (!at || Number.isNaN(ms)) return <span className="text-dim">{at || "–"}</span>;
  return (
    <time dateTime={at} title={exactly(ms)} className="whitespace-nowrap">
      {relative ? <Ago ms={ms} /> : dateTime(ms)}
    </time>
  );
}

function Ago({ ms }: { ms: number }) {
  return <>{ago(ms, useNow())}</>;
}
