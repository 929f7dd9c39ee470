/** From the JSON Schema of a setting to a control, and between its text and its value. Pure. */
import { count, milliseconds } from "../../../words/format";

type Schema = Readonly<Record<string, unknown>>;

export type Kind =
  | { is: "choice"; options: readonly string[]; nullable: boolean }
  | { is: "switch" }
  | { is: "number"; whole: boolean; minimum: number | null; maximum: number | null; nullable: boolean; time: boolean }
  | { is: "line"; longest: number | null; nullable: boolean }
  | { is: "lines" }
  | { is: "pairs" }
  | { is: "json" };

export type Reading = { value: unknown; problem: "" } | { value: undefined; problem: string };

const JSON_TEXT: Kind = { is: "json" };
const YES = "true";

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const numberOr = (value: unknown) => (typeof value === "number" ? value : null);

/** A name that ends in `_ms` is a time: "2s" may be written for 2000. */
export function kindOf(schema: Schema, name = ""): Kind {
  if (!Array.isArray(schema.anyOf)) return plainKind(schema, name, false);
  const parts = schema.anyOf.filter(isSchema);
  const others = parts.filter((part) => part.type !== "null");
  const [only] = others;
  return only && others.length === 1 ? plainKind(only, name, parts.length > 1) : JSON_TEXT;
}

function plainKind(schema: Schema, name: string, nullable: boolean): Kind {
  const options = schema.enum;
  if (Array.isArray(options)) return options.every(isText) ? { is: "choice", options, nullable } : JSON_TEXT;
  switch (schema.type) {
    case "boolean":
      return nullable ? JSON_TEXT : { is: "switch" };
    case "integer":
    case "number":
      return numberKind(schema, name, nullable);
    case "string":
      return { is: "line", longest: numberOr(schema.maxLength), nullable };
    case "array":
      return nullable ? JSON_TEXT : arrayKind(schema.items);
  }
  return JSON_TEXT;
}

function numberKind(schema: Schema, name: string, nullable: boolean): Kind {
  return {
    is: "number",
    whole: schema.type === "integer",
    minimum: numberOr(schema.minimum),
    maximum: numberOr(schema.maximum),
    nullable,
    time: name.endsWith("_ms"),
  };
}

function arrayKind(items: unknown): Kind {
  if (!isSchema(items)) return JSON_TEXT;
  if (items.type === "string" && !items.enum) return { is: "lines" };
  const places = items.type === "array" && Array.isArray(items.prefixItems) ? items.prefixItems : [];
  const pair = places.length === 2 && places.every((place) => isSchema(place) && place.type === "string");
  return pair ? { is: "pairs" } : JSON_TEXT;
}

// --- value to text

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every(isText);

export function textOf(kind: Kind, value: unknown): string {
  if (kind.is === "lines" && Array.isArray(value)) return value.map(String).join("\n");
  if (kind.is === "pairs" && Array.isArray(value) && value.every(isPair)) {
    return value.map(([name, text]) => `${name}: ${text}`).join("\n");
  }
  if (kind.is === "json") return JSON.stringify(value) ?? "";
  return value == null ? "" : String(value);
}

// --- text to value

const good = (value: unknown): Reading => ({ value, problem: "" });
const bad = (problem: string): Reading => ({ value: undefined, problem });

export function readingOf(kind: Kind, text: string): Reading {
  const trimmed = text.trim();
  if ("nullable" in kind && kind.nullable && !trimmed) return good(null);
  switch (kind.is) {
    case "choice":
      return kind.options.includes(text) ? good(text) : bad(`choose one of ${kind.options.join(", ")}`);
    case "switch":
      return good(text === YES);
    case "number":
      return numberOf(kind, trimmed);
    case "line":
      return kind.longest !== null && trimmed.length > kind.longest
        ? bad(`at most ${count(kind.longest)} characters`)
        : good(trimmed);
    case "lines":
      return good(linesOf(text).map(({ line }) => line));
    case "pairs":
      return pairsOf(text);
    case "json":
      return jsonOf(trimmed);
  }
}

function linesOf(text: string): { line: string; number: number }[] {
  const lines = text.split("\n").map((line, at) => ({ line: line.trim(), number: at + 1 }));
  return lines.filter(({ line }) => line);
}

function numberOf(kind: Extract<Kind, { is: "number" }>, text: string): Reading {
  const value = kind.time ? milliseconds(text) : plainNumber(text);
  if (value === null) return bad(kind.time ? "write a time, like 500, 2s or 1 min" : "write a number");
  if (kind.whole && !Number.isInteger(value)) return bad("write a whole number");
  if (kind.minimum !== null && value < kind.minimum) return bad(`at least ${count(kind.minimum)}`);
  if (kind.maximum !== null && value > kind.maximum) return bad(`at most ${count(kind.maximum)}`);
  return good(value);
}

/** Reads a number strictly: Number() takes "", " " and "0x10". */
function plainNumber(text: string): number | null {
  return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

function pairsOf(text: string): Reading {
  const pairs: [string, string][] = [];
  for (const { line, number } of linesOf(text)) {
    const colon = line.indexOf(":");
    if (colon < 1) return bad(`line ${number}: write it as Name: value`);
    pairs.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
  }
  return good(pairs);
}

function jsonOf(text: string): Reading {
  try {
    return good(JSON.parse(text));
  } catch {
    return bad("this is no JSON");
  }
}
