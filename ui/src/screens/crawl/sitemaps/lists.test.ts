import { expect, it } from "vitest";
import { aSitemap } from "../../../testing/records";
import { besideWords, commandOf, listWords } from "./lists";

it("names each list with its number, as soon as it is known", () => {
  expect(listWords("sitemaps", null)).toBe("Sitemaps");
  expect(listWords("sitemaps", 1)).toBe("1 sitemap");
  expect(listWords("unlinked", 1200)).toBe("1,200 pages that only sitemaps list");
  expect(listWords("unlisted", 1)).toBe("1 page that only links lead to");
  expect(listWords("unlisted", null)).toBe("Pages that only links lead to");
});

it("says what a sitemap lists beside URLs", () => {
  expect(besideWords(aSitemap({}))).toBe("");
  expect(besideWords(aSitemap({ images: 1200, videos: 1, news: 4, alternates: 2 }))).toBe(
    "1,200 images, 1 video, 4 news, 2 alternates",
  );
});

it("knows the command that tells the same", () => {
  expect(commandOf("7", "sitemaps")).toBe("nephila sitemaps 7");
  expect(commandOf("7", "unlisted")).toBe("nephila sitemaps 7 --unlisted");
});
