/** The phases of one request, one after the other, as bars. */

export interface Phase {
  name: string;
  ms: number;
  from: number; // percent of the whole
  share: number;
}

const PHASES: readonly [key: string, name: string][] = [
  ["dns_ms", "DNS"],
  ["connect_ms", "connecting"],
  ["tls_ms", "TLS"],
  ["first_byte_ms", "waiting for the answer"],
];
const REST = "receiving";

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

/** Of `facts.timing`; nothing where nothing was measured. What the named phases leave of the total is the rest. */
export function phases(timing: unknown): Phase[] {
  if (typeof timing !== "object" || timing === null) return [];
  const values = timing as Record<string, unknown>;
  const parts = PHASES.map(([key, name]) => ({ name, ms: number(values[key]) }));
  const named = parts.reduce((sum, part) => sum + part.ms, 0);
  const total = Math.max(number(values.total_ms), named);
  if (!total) return [];
  parts.push({ name: REST, ms: total - named });
  let at = 0;
  return parts
    .filter((part) => part.ms > 0)
    .map((part) => {
      const phase = { ...part, from: (100 * at) / total, share: (100 * part.ms) / total };
      at += part.ms;
      return phase;
    });
}

export function totalOf(parts: readonly Phase[]): number {
  return parts.reduce((sum, part) => sum + part.ms, 0);
}
