import { useState } from "react";
import { Meter } from "../../look/Bars";
import { useNow } from "../../look/Moment";
import { duration } from "../../words/format";
import { calm, remaining, seen } from "./cooldown";

interface Props {
  inMs: number;
  readAt: number; // when the server said so, ms
  over?: string; // the word when it has run out
}

export function Countdown({ inMs, readAt, over = "now" }: Props) {
  const left = remaining(inMs, readAt, useNow());
  return <span className="font-mono whitespace-nowrap tabular-nums">{left ? duration(calm(left)) : over}</span>;
}

/** The wait of a host as a bar that runs down and a number. */
export function Cooldown({ nextInMs, delayMs, readAt }: { nextInMs: number; delayMs: number; readAt: number }) {
  const [known, setKnown] = useState(() => seen(null, nextInMs, delayMs));
  if (known.next !== nextInMs) setKnown(seen(known, nextInMs, delayMs));
  const left = remaining(nextInMs, readAt, useNow());
  const words = left ? `next request in ${duration(calm(left))}` : "may be asked now";
  return (
    <div className="flex items-center justify-end gap-2">
      <div className="w-14 shrink-0">
        <Meter part={left} all={known.whole} label={words} />
      </div>
      <span className="w-16 text-right font-mono whitespace-nowrap tabular-nums">
        {left ? duration(calm(left)) : <span className="text-dim">now</span>}
      </span>
    </div>
  );
}
