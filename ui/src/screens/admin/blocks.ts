/** What is typed into the form of block rules, and where an answer belongs. */
import type { Problem } from "../../api/problem";
import type { Block } from "../../api/types";

export type BlockKind = Block["kind"];

export const VALUES_MAX = 1000;

/** Domains hold neither blanks nor commas; a pattern may hold both, so each has its own line. */
export function valuesOf(kind: BlockKind, text: string): string[] {
  const parts = text.split(kind === "domain" ? /[\s,]+/ : /\r?\n/).map((part) => part.trim());
  return [...new Set(parts.filter(Boolean))];
}

/** What is wrong with the form; null: it can be sent. */
export function wrongWith(values: readonly string[]): string | null {
  if (!values.length) return "Give at least one.";
  if (values.length > VALUES_MAX) return `At most ${VALUES_MAX} at once; these are ${values.length}.`;
  return null;
}

export interface Placed {
  values?: string;
  reason?: string;
  whole?: string; // of the form, where no field is to blame
}

/** The server counts the values from 0; people see the text they wrote. */
export function placed(problem: Problem, values: readonly string[]): Placed {
  const field = problem.field ?? "";
  if (field === "reason") return { reason: problem.message };
  if (field !== "values" && !field.startsWith("values.")) return { whole: problem.message };
  const which = values[Number(field.split(".")[1] ?? Number.NaN)];
  const message = problem.message.replace(`${field}: `, "");
  return { values: which === undefined ? message : `${which}: ${message}` };
}

export function matching(blocks: readonly Block[], text: string): Block[] {
  const wanted = text.trim().toLowerCase();
  return blocks.filter(({ kind, value, reason, created_by }) =>
    [kind, value, reason, created_by].some((part) => part.toLowerCase().includes(wanted)),
  );
}
