import { expect, it } from "vitest";
import { asking, jsonOf, nextOffset, previousOffset, queryOf, skipping, viewOf } from "./address";

const view = (address: string) => viewOf(new URLSearchParams(address));

it.each([
  ["", { q: "", crawl: "", host: "", offset: 0 }],
  ["q=+golden+silk+&crawl=7&host=a.example&offset=40", { q: "golden silk", crawl: "7", host: "a.example", offset: 40 }],
  ["q=a&offset=-1", { q: "a", crawl: "", host: "", offset: 0 }],
  ["q=a&offset=2000", { q: "a", crawl: "", host: "", offset: 1000 }],
])("?%s is read", (address, expected) => {
  expect(view(address)).toEqual(expected);
});

it("asks only for what is wanted", () => {
  expect(queryOf(view("q=a"))).toEqual({ q: "a", limit: 20 });
  expect(jsonOf(view('q="a b"&crawl=7&host=[::1]:80&offset=20'))).toBe(
    "/api/v1/search?q=%22a+b%22&crawl=7&host=%5B%3A%3A1%5D%3A80&limit=20&offset=20",
  );
});

it("begins another question with its best results, and leaves out what is not wanted any more", () => {
  const before = new URLSearchParams("q=a&crawl=7&offset=40");
  expect(asking(before, { q: "b" }).toString()).toBe("q=b&crawl=7");
  expect(asking(before, { crawl: "" }).toString()).toBe("q=a");
  expect(skipping(before, 20).toString()).toBe("q=a&crawl=7&offset=20");
  expect(skipping(before, 0).toString()).toBe("q=a&crawl=7");
});

it.each([
  [0, 20, null],
  [0, 21, 20],
  [20, 21, null],
  [980, 10_000, 1000],
  [1000, 10_000, null], // further than the API goes
])("after offset %i of %i comes %s", (offset, total, next) => {
  expect(nextOffset(offset, total)).toBe(next);
});

it.each([
  [0, null],
  [20, 0],
  [7, 0],
  [1000, 980],
])("before offset %i is %s", (offset, previous) => {
  expect(previousOffset(offset)).toBe(previous);
});
