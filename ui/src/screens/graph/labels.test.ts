import { expect, it } from "vitest";
import { folderOf, foldersOf, labelOf, pathEnd } from "./labels";

it.each([
  ["https://a.example/", "a.example"],
  ["https://a.example", "a.example"],
  ["https://a.example/docs/guide/", "guide"],
  ["https://a.example/x?q=1#top", "x?q=1"],
  ["not a url", "not a url"],
])("calls %s %s", (url, name) => expect(pathEnd(url)).toBe(name));

it.each([
  ["https://a.example/", "/"],
  ["https://a.example/page", "/"],
  ["https://a.example/docs/guide", "/docs"],
  ["https://a.example/docs/", "/docs"],
  ["https://a.example//x/y", "/"],
  ["https://a.example/page?a=/b/c", "/"],
  ["https://a.example?a=/b/c", "/"],
  ["a.example/docs/x", "/docs"],
  ["", "/"],
])("puts %s into %s", (url, folder) => expect(folderOf(url)).toBe(folder));

it("prefers the title, shortened, as text", () => {
  expect(labelOf({ url: "https://a.example/", title: " <b>Hi</b>\n there " })).toBe("<b>Hi</b> there");
  expect(labelOf({ url: "https://a.example/", title: "x".repeat(100) })).toHaveLength(40);
  expect(labelOf({ url: "https://a.example/end", title: "  " })).toBe("end");
});

it.each([
  ["https://a.example/", ""],
  ["https://a.example", ""],
  ["https://a.example/docs/guide/x", "/docs/guide"],
  ["https://a.example/docs/guide/", "/docs/guide"],
  ["https://a.example//docs///x", "/docs"],
  ["https://a.example/x?y=/z/", ""],
  ["https://a.example?a=/b/c", ""],
  ["", ""],
])("finds the folders of %s: %s", (url, folders) => expect(foldersOf(url)).toBe(folders));
