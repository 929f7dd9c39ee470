import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEY = "nephila.theme";
const listeners = new Set<() => void>();
const dark = () => window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | null {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : null;
}

export function theme(): Theme {
  return chosen() ?? (dark().matches ? "dark" : "light");
}

function show(): void {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

/** Runs before the first paint, so that nothing flashes. */
export function installTheme(): void {
  show();
  dark().addEventListener("change", show);
}

export function setTheme(value: Theme): void {
  localStorage.setItem(KEY, value);
  show();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, theme);
}

/** The value of a token as the page has it now, for canvases. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
