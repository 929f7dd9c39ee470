/** Why links and URLs are refused, in words. What is not known here is shown as the API says it. */
import { words } from "../../words/format";
import { REASONS, reasonWords } from "../urls/reasons";
import { valueText } from "./differing";
import type { Refused } from "./RefusedPanel";

const REFUSALS: Readonly<Record<string, string>> = {
  invalid: "no URL by the standard",
  scheme: "neither http nor https",
  length: "the URL is too long",
  scope: "the host is out of scope",
  include: "no include pattern matches",
  exclude: "an exclude pattern matches",
  depth: "too many links from a seed",
  extension: "an ending that is skipped",
  path_segments: "too many path segments",
  path_repeats: "a path segment is repeated too often",
  nofollow: "the page says nofollow",
  limit: "the limit on URLs was reached",
  frontier: "too many URLs were open",
  hops: "too many redirects in a row",
  rule: "a block rule",
  requisite: "a page needs it, from another host than its own",
  foreign_sitemap: "a sitemap lists it that may not speak for its host",
  sitemaps_only: "a link, where pages come from sitemaps alone",
};

export const REASONS_KNOWN: readonly string[] = [...new Set([...Object.keys(REFUSALS), ...Object.keys(REASONS)])];
export const isRefusal = (word: string): boolean => REASONS_KNOWN.includes(word);

export function refusalWords({ what, reason }: Pick<Refused, "what" | "reason">): string {
  if (what === "url") return reasonWords(reason);
  return (Object.hasOwn(REFUSALS, reason) && REFUSALS[reason]) || words(reason);
}

/** The setting that decides, with its value in this crawl; empty where none does. */
export function settingWords({ setting, value }: Pick<Refused, "setting" | "value">): string {
  return setting && `${setting} = ${valueText(setting, value)}`;
}
