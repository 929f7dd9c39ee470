import { expect, it } from "vitest";
import { Problem } from "../../api/problem";
import { crawlName, rangeWords, titleOf, wrongField } from "./sentences";

it.each([
  [0, 1, 1, true, "1 page"],
  [0, 20, 345, true, "1 to 20 of 345 pages"],
  [340, 5, 345, true, "341 to 345 of 345 pages"],
  [0, 20, 10_000, false, "1 to 20 of more than 10,000 pages"],
  [0, 0, 0, true, "0 pages"],
])("from %i on %i of %i", (offset, shown, total, total_exact, words) => {
  expect(rangeWords(offset, shown, { total, total_exact })).toBe(words);
});

it.each([
  ["A title", "A title"],
  ["田中", "田中"],
  ["😀", "😀"],
  ["", "https://a.example/"],
  ["  \u200b\u200d\ufeff", "https://a.example/"],
])("the title %j is shown as %j", (title, shown) => {
  expect(titleOf({ title, url: "https://a.example/" })).toBe(shown);
});

it("names a crawl by its number and seeds", () => {
  expect(crawlName({ id: 7, name: "", root_url: "https://a.example/", seeds_count: 1 })).toBe("7: https://a.example/");
  expect(crawlName({ id: 7, name: "", root_url: "https://a.example/", seeds_count: 3 })).toBe(
    "7: https://a.example/ and 2 more seeds",
  );
  expect(crawlName({ id: 7, name: "Docs", root_url: "https://a.example/", seeds_count: 3 })).toBe(
    "7: Docs (https://a.example/)",
  );
});

it.each([
  [422, "q", "q"],
  [422, "host", "host"],
  [422, "limit", null],
  [422, null, null],
  [404, null, "crawl"],
  [500, null, null],
])("a refusal %i of %s is said at %s", (status, field, wrong) => {
  expect(wrongField(new Problem(status, "", "no", "", field))).toBe(wrong);
});

it("no refusal is about no field", () => expect(wrongField(null)).toBeNull());
