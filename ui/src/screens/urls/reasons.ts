/** Why a URL is in its state, in words. What is not known here is shown as the API says it. */
import type { UrlRow } from "../../api/types";
import { duration, words } from "../../words/format";

export const REASONS: Readonly<Record<string, string>> = {
  robots: "robots.txt disallows it",
  robots_unreachable: "robots.txt could not be had",
  crawl_delay: "the host asks for a longer delay than is accepted",
  limit_pages: "the limit on pages was reached",
  limit_time: "the limit on time was reached",
  limit_bytes: "the limit on bytes was reached",
  limit_host: "the limit on URLs of one host was reached",
  limit_frontier: "too many URLs were open, and it was among the least important",
  depth: "at the depth limit, only recorded",
  rule: "a block rule",
  cancelled: "the crawl was cancelled",
  host_dead: "its host was given up",
  unreachable: "no seed of the crawl answered",
  poison: "the page broke its parser",
  too_costly: "the page took its parser too long",
  content_type: "of a type that is no page here",
  not_sitemap: "it is no sitemap",
  unsafe_sitemap: "a sitemap with a DTD, which may declare entities",
  redirect_loop: "redirects in a circle",
  redirect_out_of_scope: "redirects out of scope",
  redirect_invalid: "redirects to no valid URL",
  dns: "DNS gave no answer",
  nxdomain: "there is no such domain",
  connect: "no connection",
  tls: "TLS failed",
  timeout: "took too long",
  reset: "the connection broke",
  protocol: "not HTTP as it should be",
  headers_too_long: "its headers are too long",
  private_address: "a private address",
  proxy: "the proxy failed",
  http_4xx: "an HTTP error of 400 to 499",
  http_5xx: "an HTTP error of 500 to 599",
  rate_limited: "the host asks for rest",
};

export function reasonWords(reason: string): string {
  return (Object.hasOwn(REASONS, reason) && REASONS[reason]) || words(reason);
}

type Facts = Pick<UrlRow, "state" | "reason" | "error" | "not_before_in_ms" | "claimed_by" | "redirect_to">;

/** One line for a table: the reason, its detail, and what comes next. */
export function whyLine(row: Facts): string {
  const parts = [row.reason && reasonWords(row.reason), row.error];
  if (row.state === "in_progress" && row.claimed_by !== null) parts.push(`worker ${row.claimed_by}`);
  if (row.state === "queued" && row.not_before_in_ms) parts.push(`again in ${duration(row.not_before_in_ms)}`);
  if (row.redirect_to) parts.push(`to ${row.redirect_to}`);
  return parts.filter(Boolean).join("; ");
}
