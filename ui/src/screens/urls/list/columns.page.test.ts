import { expect, it } from "vitest";
import { columnsOf, hiddenOf, keepHidden, keptHidden, toggled, visible } from "./columns";

it.each([
  [null, ["title", "type", "retries"]],
  ["", ["title", "type", "retries"]],
  ["{", ["title", "type", "retries"]],
  ['{"a":1}', ["title", "type", "retries"]],
  ["[]", []],
  ['["depth","nonsense","constructor",7,"url"]', ["depth"]],
])("%s means %j hidden", (kept, hidden) => expect([...hiddenOf("urls", kept)]).toEqual(hidden));

it("a column goes and comes back, the URL stays", () => {
  const without = toggled(new Set(), "depth");
  expect([...without]).toEqual(["depth"]);
  expect([...toggled(without, "depth")]).toEqual([]);
  expect([...toggled(new Set(), "url")]).toEqual([]);
});

it("what is hidden is kept, each view for itself", () => {
  keepHidden("urls", new Set(["type"]));
  expect([...keptHidden("urls")]).toEqual(["type"]);
  expect(keptHidden("pages").has("type")).toBe(false);
});

it("beside the inspector only what names a row is shown", () => {
  expect(visible("urls", new Set(), true)).toEqual(["state", "status", "url", "title"]);
  expect(visible("urls", new Set(["title", "status"]), true)).toEqual(["state", "url"]);
  expect(visible("pages", new Set(), false)).toEqual(columnsOf("pages"));
});
