/** What the search screen says. Pure. */
import type { Problem } from "../../api/problem";
import type { Crawl, SearchResult, SearchResults } from "../../api/types";
import { bytes, count, manyOrMore } from "../../words/format";
import { moreSeeds } from "../crawls/list";
import type { Question } from "./address";

type Total = Pick<SearchResults, "total" | "total_exact">;

/** "21 to 40 of 345 pages", and the number alone where all are seen. */
export function rangeWords(offset: number, shown: number, total: Total): string {
  const all = manyOrMore(total.total, total.total_exact, "page");
  if (!shown || (total.total_exact && shown === total.total)) return all;
  return `${count(offset + 1)} to ${count(offset + shown)} of ${all}`;
}

export function pendingWords(pending_bytes: number): string {
  return `${bytes(pending_bytes)} of the archive are not indexed yet`;
}

const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** A title of blanks, or of characters without a shape, could not be clicked: then the URL stands for it. */
export function titleOf({ title, url }: Pick<SearchResult, "title" | "url">): string {
  return SEEN.test(title) ? title : url;
}

/** As in the list of crawls: "7: Docs, weekly", "7: https://example.com/ and 2 more seeds". */
export function crawlName({
  id,
  name,
  root_url,
  seeds_count,
}: Pick<Crawl, "id" | "name" | "root_url" | "seeds_count">): string {
  return name ? `${id}: ${name} (${root_url})` : [`${id}:`, root_url, moreSeeds(seeds_count)].filter(Boolean).join(" ");
}

const FIELDS: readonly (keyof Question)[] = ["q", "crawl", "host"];

/** The field that a refusal is about; null: it is about none. The only thing that can be missing is the crawl. */
export function wrongField(problem: Problem | null): keyof Question | null {
  if (problem?.status === 404) return "crawl";
  return (problem?.status === 422 && FIELDS.find((field) => field === problem.field)) || null;
}
