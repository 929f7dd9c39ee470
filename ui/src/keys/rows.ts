/** One tab stop per table: Tab goes to the row where one was last, arrows go on from there. */
import { type KeyboardEvent, type RefObject, useCallback, useLayoutEffect, useRef } from "react";

const CONTROLS = "a[href], button, summary, input, select, textarea";
const TYPED = /^(INPUT|SELECT|TEXTAREA)$/;
const PAGE_ROWS = 10;

/** What can be reached in a row, in order: the row itself where it can be opened, then its links and buttons. */
function stopsOf(row: HTMLTableRowElement): HTMLElement[] {
  const controls = [...row.querySelectorAll<HTMLElement>(CONTROLS)].filter((control) => !control.matches(":disabled"));
  return row.hasAttribute("tabindex") ? [row, ...controls] : controls;
}

interface Lines {
  head: HTMLElement[][];
  body: HTMLElement[][];
}

function linesOf(table: HTMLTableElement): Lines {
  const read = (rows: Iterable<HTMLTableRowElement>) => [...rows].map(stopsOf).filter((stops) => stops.length > 0);
  return { head: read(table.tHead?.rows ?? []), body: [...table.tBodies].flatMap((part) => read(part.rows)) };
}

/** Where a key leads from one stop; null: the key is not for the table. */
export function leadsTo(key: string, from: HTMLElement, table: HTMLTableElement): HTMLElement | null {
  if (TYPED.test(from.tagName)) return null;
  const { head, body } = linesOf(table);
  const lines = [...head, ...body];
  const line = lines.findIndex((stops) => stops.includes(from));
  const stops = lines[line];
  if (!stops) return null;
  const place = stops.indexOf(from);
  const inHead = line < head.length;
  /** The same place of another line, as far as it has one; below the head the row itself. */
  const at = (wanted: number) => {
    const to = lines[Math.max(0, Math.min(wanted, lines.length - 1))] ?? stops;
    return to[inHead && to !== stops ? 0 : Math.min(place, to.length - 1)] ?? from;
  };
  const within = (wanted: number) => at(Math.max(head.length, wanted));
  switch (key) {
    case "ArrowDown":
      return at(line + 1);
    case "ArrowUp":
      return at(line - 1);
    case "ArrowRight":
      return stops[place + 1] ?? from;
    case "ArrowLeft":
      return stops[place - 1] ?? from;
    case "Home":
      return inHead ? (stops[0] ?? from) : within(head.length);
    case "End":
      return inHead ? (stops.at(-1) ?? from) : within(lines.length - 1);
    case "PageDown":
      return within(line + PAGE_ROWS);
    case "PageUp":
      return within(line - PAGE_ROWS);
    default:
      return null;
  }
}

/** Makes one stop of the table the one that Tab reaches: `last`, while it is there, else the first row. */
function settle(table: HTMLTableElement, last: HTMLElement | null): HTMLElement | null {
  const { head, body } = linesOf(table);
  const all = [...body, ...head].flat();
  const stop = last && all.includes(last) ? last : (all[0] ?? null);
  for (const each of all) {
    const wanted = each === stop ? 0 : -1;
    if (each.getAttribute("tabindex") !== String(wanted)) each.tabIndex = wanted;
  }
  return stop;
}

/** Each cell gets the name of its column, for windows that are too narrow for columns (look.css). */
function label(table: HTMLTableElement): void {
  const names = [...(table.tHead?.rows[0]?.cells ?? [])].map((head) => head.dataset.label ?? "");
  for (const row of [...table.tBodies].flatMap((part) => [...part.rows])) {
    if (row.cells.length !== names.length) continue;
    for (const [at, cell] of [...row.cells].entries()) {
      const name = names[at];
      if (name && cell.dataset.label !== name) cell.dataset.label = name;
    }
  }
}

/** `onMove`: the keyboard went to another stop. */
export function useOneStop(table: RefObject<HTMLTableElement | null>, onMove?: (stop: HTMLElement) => void) {
  const last = useRef<HTMLElement | null>(null);
  // With the rows, not after them: until then Tab would stop at each.
  useLayoutEffect(() => {
    const shown = table.current;
    if (!shown) return;
    const look = () => {
      last.current = settle(shown, last.current);
      label(shown);
    };
    look();
    const changes = new MutationObserver(look); // rows come and go, and are not drawn by whoever draws the table
    changes.observe(shown, { childList: true, subtree: true });
    return () => changes.disconnect();
  }, [table]);
  const focused = useCallback(
    (target: EventTarget) => {
      const shown = table.current;
      const stop = target instanceof HTMLElement ? target.closest<HTMLElement>(`${CONTROLS}, tr[tabindex]`) : null;
      if (shown && stop) last.current = settle(shown, stop);
    },
    [table],
  );
  const pressed = (event: KeyboardEvent<HTMLElement>) => {
    const from = document.activeElement;
    if (event.altKey || event.ctrlKey || event.metaKey || !table.current || !(from instanceof HTMLElement)) return;
    const to = leadsTo(event.key, from, table.current);
    if (!to) return;
    event.preventDefault();
    to.focus();
    if (to !== from) onMove?.(to);
  };
  return { focused, pressed };
}

/** Enter on a row; on a link or button inside of the row it is theirs. */
export function onEnter(run: () => unknown) {
  return (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === "Enter" && event.target === event.currentTarget) run();
  };
}
