/** Keys that work everywhere: `/` to the filter of the screen, `g` and a letter to a noun, `?` for this list. */
import { useEffect } from "react";

export const PLACES = {
  c: { to: "/crawls", text: "crawls" },
  n: { to: "/crawls/new", text: "new crawl" },
  s: { to: "/search", text: "search" },
  h: { to: "/hosts", text: "hosts" },
  w: { to: "/workers", text: "workers" },
  a: { to: "/admin", text: "admin" },
} as const;

const FILTER = "[data-filter]";
const PAUSE_MS = 1500; // between `g` and its letter

const isPlace = (key: string): key is keyof typeof PLACES => key in PLACES;

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

export function useKeys(go: (to: string) => void, help: () => void): void {
  useEffect(() => {
    let began = Number.NEGATIVE_INFINITY; // a page is younger than the pause when it opens
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      if (event.timeStamp - began < PAUSE_MS && isPlace(event.key)) {
        began = Number.NEGATIVE_INFINITY;
        event.preventDefault();
        go(PLACES[event.key].to);
      } else if (event.key === "g") {
        began = event.timeStamp;
      } else if (event.key === "/") {
        const filter = document.querySelector<HTMLElement>(FILTER);
        if (!filter) return;
        event.preventDefault();
        filter.focus();
      } else if (event.key === "?") {
        help();
      }
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [go, help]);
}
