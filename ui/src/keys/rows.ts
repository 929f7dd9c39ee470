import type { KeyboardEvent } from "react";

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** On a tbody whose rows have `tabIndex={0}`: arrows, Home and End move between rows; Enter is the row's own. */
export function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("tr[tabindex]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const step = STEPS[event.key];
  const next = event.key === "Home" ? 0 : event.key === "End" ? rows.length - 1 : step === undefined ? at : at + step;
  if (next === at && step === undefined) return;
  event.preventDefault();
  rows[Math.max(0, Math.min(next, rows.length - 1))]?.focus();
}
