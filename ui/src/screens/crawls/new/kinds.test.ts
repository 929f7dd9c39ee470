import { describe, expect, test } from "vitest";
import { type Kind, kindOf, readingOf, textOf } from "./kinds";

const WHOLE: Kind = { is: "number", whole: true, minimum: 1, maximum: 1000, nullable: false, time: false };
const PAIR = { type: "array", minItems: 2, maxItems: 2, prefixItems: [{ type: "string" }, { type: "string" }] };

describe("kind of a schema", () => {
  test.each<[string, Record<string, unknown>, string, Kind]>([
    ["enum", { enum: ["a", "b"], type: "string" }, "", { is: "choice", options: ["a", "b"], nullable: false }],
    ["enum of numbers", { enum: [1, 2] }, "", { is: "json" }],
    ["boolean", { type: "boolean" }, "", { is: "switch" }],
    ["integer", { type: "integer", minimum: 1, maximum: 1000 }, "", WHOLE],
    [
      "number",
      { type: "number" },
      "",
      { is: "number", whole: false, minimum: null, maximum: null, nullable: false, time: false },
    ],
    ["time", { type: "integer", minimum: 1, maximum: 1000 }, "polite.floor_ms", { ...WHOLE, time: true }],
    [
      "nullable integer",
      { anyOf: [{ type: "integer", minimum: 1, maximum: 1000 }, { type: "null" }] },
      "",
      { ...WHOLE, nullable: true },
    ],
    [
      "nullable string",
      { anyOf: [{ type: "string" }, { type: "null" }] },
      "",
      { is: "line", longest: null, nullable: true },
    ],
    ["nullable boolean", { anyOf: [{ type: "boolean" }, { type: "null" }] }, "", { is: "json" }],
    ["either", { anyOf: [{ type: "string" }, { type: "integer" }] }, "", { is: "json" }],
    ["string", { type: "string", maxLength: 500 }, "", { is: "line", longest: 500, nullable: false }],
    ["strings", { type: "array", items: { type: "string" } }, "", { is: "lines" }],
    ["pairs", { type: "array", items: PAIR }, "", { is: "pairs" }],
    ["numbers", { type: "array", items: { type: "integer" } }, "", { is: "json" }],
    ["object", { type: "object" }, "", { is: "json" }],
    ["nothing known", {}, "", { is: "json" }],
  ])("%s", (_, schema, name, kind) => expect(kindOf(schema, name)).toEqual(kind));
});

describe("there and back", () => {
  test.each<[Kind, unknown, string]>([
    [{ is: "choice", options: ["a"], nullable: false }, "a", "a"],
    [{ is: "choice", options: ["a"], nullable: true }, null, ""],
    [{ is: "switch" }, true, "true"],
    [{ is: "switch" }, false, "false"],
    [WHOLE, 7, "7"],
    [{ ...WHOLE, nullable: true }, null, ""],
    [{ is: "number", whole: false, minimum: 0, maximum: 9, nullable: false, time: false }, 2.5, "2.5"],
    [{ is: "line", longest: null, nullable: false }, "", ""],
    [{ is: "line", longest: null, nullable: true }, null, ""],
    [{ is: "lines" }, ["*/a/*", "*b c*"], "*/a/*\n*b c*"],
    [{ is: "lines" }, [], ""],
    [{ is: "pairs" }, [["X-A", "b: c"]], "X-A: b: c"],
    [{ is: "pairs" }, [["X-Empty", ""]], "X-Empty: "],
    [{ is: "json" }, { a: [1] }, '{"a":[1]}'],
  ])("%o %o", (kind, value, text) => {
    expect(textOf(kind, value)).toBe(text);
    expect(readingOf(kind, text)).toEqual({ value, problem: "" });
  });
});

describe("what people write", () => {
  test.each<[Kind, string, unknown]>([
    [WHOLE, " 12 ", 12],
    [{ ...WHOLE, time: true, maximum: null }, "2s", 2000],
    [{ ...WHOLE, time: true, maximum: null }, "1.5 min", 90_000],
    [{ is: "lines" }, "\n a \n\nb\n", ["a", "b"]],
    [
      { is: "pairs" },
      "A:1\n\n B : 2 ",
      [
        ["A", "1"],
        ["B", "2"],
      ],
    ],
    [{ is: "line", longest: 5, nullable: false }, " ab ", "ab"],
  ])("%o %j", (kind, text, value) => expect(readingOf(kind, text)).toEqual({ value, problem: "" }));

  test.each<[Kind, string, string]>([
    [WHOLE, "", "write a number"],
    [WHOLE, "ten", "write a number"],
    [WHOLE, "0x10", "write a number"],
    [WHOLE, "1.5", "write a whole number"],
    [WHOLE, "0", "at least 1"],
    [WHOLE, "1001", "at most 1,000"],
    [{ ...WHOLE, time: true }, "soon", "write a time, like 500, 2s or 1 min"],
    [{ is: "choice", options: ["a", "b"], nullable: false }, "c", "choose one of a, b"],
    [{ is: "line", longest: 2, nullable: false }, "abc", "at most 2 characters"],
    [{ is: "pairs" }, "A: 1\nno colon", "line 2: write it as Name: value"],
    [{ is: "pairs" }, ": x", "line 1: write it as Name: value"],
    [{ is: "json" }, "{", "this is no JSON"],
  ])("%o %j is wrong", (kind, text, problem) => expect(readingOf(kind, text)).toEqual({ value: undefined, problem }));
});
