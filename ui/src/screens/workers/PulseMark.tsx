import type { Worker } from "../../api/types";
import { Moment, useNow } from "../../look/Moment";
import { type Pulse, pulseOf } from "./pulse";

const COLOURS: Record<Pulse, string> = {
  fresh: "var(--state-visited)",
  late: "var(--warn)",
  ended: "var(--state-cancelled)",
};
const WORDS: Record<Pulse, string> = { fresh: "alive", late: "late", ended: "ended" };

/** A dot, a word, and when it was last heard; a ring instead of a dot for what is not well, for eyes without colours. */
export function PulseMark({ worker }: { worker: Pick<Worker, "alive" | "seen_at"> }) {
  const pulse = pulseOf(worker, useNow());
  const colour = COLOURS[pulse];
  return (
    <span className="flex flex-col">
      <span className="inline-flex items-center gap-1.5 font-medium" style={{ color: colour }}>
        <span
          aria-hidden
          className="size-2 shrink-0 rounded-full border-2"
          style={{ borderColor: colour, background: pulse === "fresh" ? colour : "transparent" }}
        />
        {WORDS[pulse]}
      </span>
      <span className="text-dim tabular-nums">
        <Moment at={worker.seen_at} relative />
      </span>
    </span>
  );
}
