/** What is known of a page beside its columns. Some of it has a place of its own, the rest is a list. */
import { words } from "../../../words/format";

const CHARS_MAX = 2000;
const PLACED = new Set([
  "ip",
  "protocol",
  "charset",
  "wire_bytes",
  "timing",
  "truncated",
  "links_out",
  "links_refused",
]);

export type Facts = Readonly<Record<string, unknown>>;

export function textFact(facts: Facts, name: string): string {
  const value = facts[name];
  return typeof value === "string" ? value : "";
}

export function numberFact(facts: Facts, name: string): number | null {
  const value = facts[name];
  return typeof value === "number" ? value : null;
}

export function listFact(facts: Facts, name: string): string[] {
  const value = facts[name];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function shown(value: unknown): string {
  const text =
    typeof value === "string" ? value : typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value);
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)} …` : text;
}

export function otherFacts(facts: Facts): [name: string, value: string][] {
  return Object.entries(facts)
    .filter(([name, value]) => !PLACED.has(name) && value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [words(name), shown(value)]);
}
