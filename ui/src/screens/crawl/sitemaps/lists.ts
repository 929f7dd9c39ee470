/** The lists of the view Sitemaps, and what they say. Pure. */
import type { Sitemap } from "../../../api/types";
import { count, many } from "../../../words/format";

export const LISTS = ["sitemaps", "unlinked", "unlisted"] as const;
export type List = (typeof LISTS)[number];
export type PageList = Exclude<List, "sitemaps">;

/** "3 sitemaps", "5 pages that only sitemaps list"; without a number as long as it is not known. */
export function listWords(list: List, total: number | null): string {
  if (list === "sitemaps") return total === null ? "Sitemaps" : many(total, "sitemap");
  const rest = list === "unlinked" ? "that only sitemaps list" : "that only links lead to";
  return total === null ? `Pages ${rest}` : `${many(total, "page")} ${rest}`;
}

/** What a sitemap lists beside URLs: "310 images, 4 videos"; empty: nothing. */
export function besideWords({ images, videos, news, alternates }: Sitemap): string {
  const parts = [
    images > 0 && many(images, "image"),
    videos > 0 && many(videos, "video"),
    news > 0 && `${count(news)} news`,
    alternates > 0 && many(alternates, "alternate"),
  ];
  return parts.filter(Boolean).join(", ");
}

/** The command that tells the same, of crawls of any size. */
export function commandOf(crawl: string, list: List): string {
  return `nephila sitemaps ${crawl}${list === "sitemaps" ? "" : ` --${list}`}`;
}
