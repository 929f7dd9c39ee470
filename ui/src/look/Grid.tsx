import { type ReactNode, useRef } from "react";
import { useOneStop } from "../keys/rows";

interface Props {
  caption?: string; // for screen readers: what the table lists
  wide?: boolean; // it has more columns than a phone: there each row is a few lines
  className?: string;
  busy?: boolean;
  onMove?: (stop: HTMLElement) => void; // the keyboard went to another row, link or button
  children: ReactNode;
}

/** A table: one stop for Tab, arrows inside. Rows that can be opened have `tabIndex={-1}` and `onEnter`. */
export function Grid({ caption, wide = false, className = "", busy, onMove, children }: Props) {
  const table = useRef<HTMLTableElement>(null);
  const { focused, pressed } = useOneStop(table, onMove);
  return (
    <table
      ref={table}
      aria-busy={busy}
      onFocus={({ target }) => focused(target)}
      onKeyDown={pressed}
      className={`grid-table ${wide ? "stack" : ""} ${className}`}
    >
      {caption && <caption className="sr-only">{caption}</caption>}
      {children}
    </table>
  );
}
