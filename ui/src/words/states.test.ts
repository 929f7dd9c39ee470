import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CRAWL_COLOURS, isOver, OPEN, STATES, stateColour, sum } from "./states";

const css = readFileSync("src/look/look.css", "utf8");

describe("states", () => {
  it("has a colour for each, in light and in dark", () => {
    for (const state of STATES) {
      expect(css.split(`--state-${state}:`).length - 1, state).toBe(2);
      expect(stateColour(state)).toBe(`var(--state-${state})`);
    }
    for (const colour of Object.values(CRAWL_COLOURS)) expect(css).toContain(`${colour.slice(4, -1)}:`);
  });

  it("has those that are open at the end of every bar", () => {
    expect(new Set(STATES.slice(-2))).toEqual(OPEN);
  });

  it("sums what is there", () => {
    expect(sum({})).toBe(0);
    expect(sum({ visited: 3, queued: 4 })).toBe(7);
  });

  it("knows what is over", () => {
    expect(isOver("cancelled")).toBe(true);
    expect(isOver("ending")).toBe(false);
  });
});

/** Relative luminance and contrast as WCAG defines them. */
function contrast(first: string, second: string): number {
  const [high, low] = [first, second].map(luminance).sort((a, b) => b - a);
  return ((high ?? 0) + 0.05) / ((low ?? 0) + 0.05);
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function tokens(block: string): Map<string, string> {
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((found) => [found[1] ?? "", found[2] ?? ""]));
}

describe("contrast", () => {
  const [light = "", dark = ""] = css.split(':root[data-theme="dark"]').map((part) => part.split("@theme")[0] ?? "");
  const texts = ["text", "dim", "accent", "danger", "warn", ...STATES.map((state) => `state-${state}`)];

  it.each([
    ["light", tokens(light)],
    ["dark", tokens(dark)],
  ])("of text is at least 4.5 in %s", (_, found) => {
    const colour = (name: string) => found.get(name) ?? "#000000";
    for (const ground of ["ground", "panel", "raised", "hover"]) {
      for (const text of texts) {
        const value = contrast(colour(text), colour(ground));
        expect(value, `${text} on ${ground}: ${value.toFixed(2)}`).toBeGreaterThanOrEqual(4.5);
      }
    }
    for (const kind of ["accent", "danger", "warn"]) {
      expect(contrast(colour(kind), colour(`${kind}-ground`)), kind).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(colour("on-accent"), colour("accent"))).toBeGreaterThanOrEqual(4.5);
  });
});
