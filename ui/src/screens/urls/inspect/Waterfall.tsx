import { duration } from "../../../words/format";
import { Part } from "./Parts";
import { phases, totalOf } from "./timing";

/** Each phase begins where the one before ended. */
export function Waterfall({ timing }: { timing: unknown }) {
  const parts = phases(timing);
  if (!parts.length) return null;
  return (
    <Part title="Timing" note={`${duration(totalOf(parts))} in all`}>
      <ul className="flex flex-col gap-1">
        {parts.map(({ name, ms, from, share }) => (
          <li key={name} className="grid grid-cols-[9.5rem_1fr_4rem] items-center gap-2">
            <span className="text-dim">{name}</span>
            <span aria-hidden="true" className="relative h-2 rounded bg-hover">
              <span
                className="absolute inset-y-0 min-w-px rounded bg-accent"
                style={{ left: `${from}%`, width: `${share}%` }}
              />
            </span>
            <span className="number">{duration(ms)}</span>
          </li>
        ))}
      </ul>
    </Part>
  );
}
