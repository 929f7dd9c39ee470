import { expect, test } from "vitest";
import { seedsOf } from "./seeds";

test.each([
  ["", []],
  [" \n\t ", []],
  [",", []],
  ["https://example.com/", ["https://example.com/"]],
  ["example.com\nexample.org\r\n", ["example.com", "example.org"]],
  ["example.com, example.org", ["example.com", "example.org"]],
  ["example.com,example.org,", ["example.com", "example.org"]],
  ["https://a.example/x,https://b.example/y", ["https://a.example/x", "https://b.example/y"]],
  ["https://a.example/x,HTTP://b.example/", ["https://a.example/x", "HTTP://b.example/"]],
  ["a.example,https://b.example/", ["a.example", "https://b.example/"]],
  ["https://a.example/1,2,3?q=4,5", ["https://a.example/1,2,3?q=4,5"]],
  ["https://a.example/, https://b.example/,", ["https://a.example/", "https://b.example/"]],
  ["# mine\na.example\n  # other\nb.example", ["a.example", "b.example"]],
  ["https://a.example/#part", ["https://a.example/#part"]],
  ["a.example a.example\na.example", ["a.example"]],
])("%j", (text, seeds) => expect(seedsOf(text)).toEqual(seeds));
