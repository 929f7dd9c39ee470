import { expect, it } from "vitest";
import { delayWords } from "./holding";

const host = (name: string, ms: number, asked = true) => ({
  host: "a.example",
  delay_ms: ms,
  parts: [{ name, ms }],
  asked,
});

it.each([
  [host("floor", 2000), "2 s (this setting)"],
  [host("crawl_delay", 5000), "5 s (its robots.txt asks for it)"],
  [host("floor_of_all_crawls", 7000), "7 s (the global rate limit)"],
  [host("floor", 1000, false), "1 s (this setting; longer if its robots.txt asks for it)"],
  [host("something_new", 1000), "1 s (something new)"],
])("a delay and what decides it: %#", (found, text) => expect(delayWords(found)).toBe(text));
