import { describe, expect, it } from "vitest";
import { node } from "../../testing/graphs";
import { between, faded, mixed, paletteOf, rgb } from "./colours";
import { colouredHosts, legendOf, OTHER_HOSTS } from "./legend";

const palette = paletteOf((name) => (name === "state-failed" ? "#b00" : "#123456"));
const many = (host: string, size: number) =>
  Array.from({ length: size }, (_, at) => node(at + 1, null, { domain: host }));

describe("the legend", () => {
  it("counts states, in their order, and keeps what is hidden", () => {
    const nodes = [node(1), node(2), node(3, null, { state: "failed" })];
    const entries = legendOf(nodes, "state", [], palette, ["queued"]);
    expect(entries.map(({ name, count }) => [name, count])).toEqual([
      ["visited", 2],
      ["failed", 1],
      ["queued", 0],
    ]);
    expect(entries[1]?.colour).toBe("#b00");
  });

  it("puts great depths together", () => {
    const nodes = [node(1), node(2, 1, { depth: 9 }), node(3, 1, { depth: 40 })];
    expect(legendOf(nodes, "depth", [], palette, []).map(({ name, count }) => [name, count])).toEqual([
      ["depth 0", 1],
      ["depth 9 and deeper", 2],
    ]);
  });

  it("has a colour for the largest hosts, and one for all others", () => {
    const nodes = Array.from({ length: 10 }, (_, at) => many(`h${at}`, 20 - at)).flat();
    const hosts = colouredHosts([], nodes);
    expect(hosts).toEqual(["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"]);
    expect(legendOf(nodes, "host", hosts, palette, []).at(-1)).toMatchObject({ key: OTHER_HOSTS, count: 12 + 11 });
  });

  it("leaves a host its colour when another outgrows it", () => {
    const before = colouredHosts([], many("a", 2));
    expect(colouredHosts(before, [...many("a", 2), ...many("b", 50)])).toEqual(["a", "b"]);
  });
});

describe("colours", () => {
  it.each([
    ["#fff", [255, 255, 255]],
    ["#0f766e", [15, 118, 110]],
    ["", [128, 128, 128]],
  ])("reads %s", (text, parts) => expect(rgb(text)).toEqual(parts));

  it("mixes", () => {
    expect(mixed("#000000", "#ffffff", 0.5)).toBe("#808080");
    expect(between(["#000000", "#ff0000", "#ffffff"], 0.5)).toBe("#ff0000");
    expect(between(["#000000", "#ffffff"], 2)).toBe("#ffffff");
    expect(faded("#0f0", 0.5)).toBe("rgba(0,255,0,0.5)");
  });
});
