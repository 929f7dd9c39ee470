import { api } from "../../../api/client";
import type { ListedPages } from "../../../api/types";
import type { PageList } from "./lists";

const KEPT_MS = 60_000; // each answer reads the links of all pages: not again and again while a crawl runs

export interface FoundPages {
  data: ListedPages | undefined;
  total: number | null; // null: not known yet, or it cannot be told
  error: unknown;
  again: () => void;
}

/** Pages that only sitemaps list (unlinked), or that only links lead to (unlisted), behind the number `after`. */
export function usePages(crawl: string, list: PageList, after: number, enabled: boolean): FoundPages {
  const { data, error, refetch } = api.useQuery(
    "get",
    `/api/v1/crawls/{crawl}/sitemaps/${list}`,
    { params: { path: { crawl }, query: { after } } },
    { enabled, staleTime: KEPT_MS },
  );
  return { data, total: data?.total ?? null, error, again: () => void refetch() };
}
