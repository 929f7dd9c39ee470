import type { ReactNode } from "react";
import { useId } from "react";

interface Props {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
  flush?: boolean; // its content reaches the edges, as tables do
}

export function Panel({ title, actions, children, flush = false }: Props) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="min-w-0 rounded border border-line bg-panel">
      <header className="flex min-h-9 items-center justify-between gap-2 border-b border-line px-3 py-1">
        <h2 id={id} className="font-medium">
          {title}
        </h2>
        {actions && <div className="flex items-center gap-2">{actions}</div>}
      </header>
      <div className={flush ? "overflow-x-auto" : "p-3"}>{children}</div>
    </section>
  );
}

/** A number with its name; it changes in place without moving anything. */
export function Figure({ name, value, note }: { name: string; value: string; note?: string }) {
  return (
    <div className="min-w-20">
      <dt className="text-dim">{name}</dt>
      <dd className="font-mono text-title tabular-nums">{value}</dd>
      {note && <dd className="text-dim">{note}</dd>}
    </div>
  );
}

export function Figures({ children }: { children: ReactNode }) {
  return <dl className="flex flex-wrap gap-x-6 gap-y-3">{children}</dl>;
}
