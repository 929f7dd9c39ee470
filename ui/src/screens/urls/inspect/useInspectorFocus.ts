import { type RefObject, useEffect, useRef } from "react";

/** The id of the inspector's heading: where the focus goes when the keyboard opens it. */
export const HEADING = "inspector-heading";

/** Esc belongs to whatever is more in front: a dialog, a menu (it says so itself), a text that is being typed. */
function isTaken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return true;
  return event.target instanceof HTMLInputElement && event.target.value !== "" && event.target.type === "search";
}

export function useEscape(close: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !isTaken(event)) close();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [close]);
}

const rowOf = (url: number) => document.querySelector<HTMLElement>(`tr[data-url="${url}"]`);

/** The inspector takes the focus if the keyboard opened it, and gives it back to the row when it closes. */
export function useInspectorFocus(heading: RefObject<HTMLElement | null>, url: number): void {
  const shown = useRef(url);
  const opener = useRef<HTMLElement | null>(null);
  useEffect(() => {
    const active = document.activeElement;
    opener.current = active instanceof HTMLElement && active !== document.body ? active : null;
    if (opener.current?.matches(":focus-visible")) heading.current?.focus();
    return () => {
      // The focus was inside and is lost with the inspector.
      if (document.activeElement !== document.body) return;
      (rowOf(shown.current) ?? opener.current)?.focus();
    };
  }, [heading]);
  useEffect(() => {
    if (shown.current === url) return;
    shown.current = url;
    if (document.activeElement === document.body) heading.current?.focus();
  }, [url, heading]);
}
