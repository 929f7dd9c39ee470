import { describe, expect, it } from "vitest";
import { changed, viewOf } from "./address";

const read = (text: string) => viewOf(new URLSearchParams(text));
const write = (text: string, change: Parameters<typeof changed>[1]) =>
  changed(new URLSearchParams(text), change).toString();

describe("the address of a graph", () => {
  it("has defaults for everything", () => {
    expect(read("")).toEqual({
      kind: "discovery",
      colour: "state",
      every: 3,
      node: null,
      focus: null,
      steps: 1,
      hidden: [],
      open: [],
    });
  });

  it.each([
    ["every=0", 3],
    ["every=11", 3],
    ["every=1e1", 3],
    ["every=10", 10],
  ])("takes %s as %i seconds", (text, every) => expect(read(text).every).toBe(every));

  it("takes nonsense for nothing", () => {
    expect(read("node=x&focus=-1&steps=9&kind=3&colour=red")).toMatchObject({ ...read("") });
  });

  it("keeps what it does not know, and leaves defaults out", () => {
    expect(write("inspect=4&kind=links&every=5", { every: 3 })).toBe("inspect=4&kind=links");
  });

  it("changes the inspected URL together with the chosen node", () => {
    expect(write("", { node: 7, inspect: 7 })).toBe("node=7&inspect=7");
    expect(write("node=7&inspect=7", { node: null })).toBe("inspect=7");
  });

  it("keeps steps only with a focus", () => {
    expect(write("focus=3&steps=2", { focus: null })).toBe("");
    expect(write("focus=3", { steps: 3 })).toBe("focus=3&steps=3");
  });

  it("forgets hidden entries when the colours mean something else", () => {
    expect(write("hide=queued&hide=failed", { colour: "host" })).toBe("colour=host");
    expect(write("hide=queued", { every: 4 })).toBe("hide=queued&every=4".split("&").reverse().join("&"));
  });
});
