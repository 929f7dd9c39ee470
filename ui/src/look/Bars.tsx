import type { UrlState } from "../api/types";
import { count, percent, words } from "../words/format";
import { STATES, stateColour, sum } from "../words/states";

type Counts = Partial<Record<UrlState, number>>;

function described(counts: Counts, all: number): string {
  const parts = STATES.filter((state) => counts[state]).map(
    (state) => `${words(state)} ${count(counts[state] ?? 0)} (${percent(counts[state] ?? 0, all)})`,
  );
  return parts.join(", ") || "nothing yet";
}

/** URLs by state in one bar; its parts have the colours of the states, the words are in its label and legend. */
export function StateBar({ counts, thin = false }: { counts: Counts; thin?: boolean }) {
  const all = sum(counts);
  return (
    <div
      role="img"
      aria-label={`URLs by state: ${described(counts, all)}`}
      title={described(counts, all)}
      className={`flex w-full overflow-hidden rounded bg-hover ${thin ? "h-1.5" : "h-4"}`}
    >
      {STATES.map((state) => {
        const share = all ? (100 * (counts[state] ?? 0)) / all : 0;
        return share ? <span key={state} style={{ width: `${share}%`, background: stateColour(state) }} /> : null;
      })}
    </div>
  );
}

export function StateLegend({ counts }: { counts: Counts }) {
  const all = sum(counts);
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {STATES.filter((state) => counts[state]).map((state) => (
        <li key={state} className="flex items-center gap-1.5">
          <span aria-hidden className="size-2 rounded-full" style={{ background: stateColour(state) }} />
          <span style={{ color: stateColour(state) }}>{words(state)}</span>
          <span className="font-mono tabular-nums">{count(counts[state] ?? 0)}</span>
          <span className="text-dim">{percent(counts[state] ?? 0, all)}</span>
        </li>
      ))}
    </ul>
  );
}

/** A part of a whole, as the bar of a table row. */
export function Meter({ part, all, label }: { part: number; all: number; label: string }) {
  const share = all ? Math.min(100, (100 * part) / all) : 0;
  return (
    <div role="img" aria-label={label} title={label} className="h-1.5 w-full rounded bg-hover">
      <div className="h-full rounded bg-accent" style={{ width: `${share}%` }} />
    </div>
  );
}
