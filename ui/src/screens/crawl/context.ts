import { useCallback } from "react";
import { useOutletContext, useSearchParams } from "react-router";
import type { Live } from "../../api/live";
import type { CrawlDetail } from "../../api/types";
import { withParameters } from "../address";

/** What every view inside a crawl has from its frame. */
export interface CrawlContext {
  id: string; // as the address has it: a number or a uuid
  detail: CrawlDetail; // read anew when the state changes
  live: Live;
}

export function useCrawl(): CrawlContext {
  return useOutletContext<CrawlContext>();
}

const PARAMETER = "inspect";
const TAB = "tab"; // of the inspector

/** The inspector is part of the address: `?inspect=ID`. It can be shared, and Back closes it. */
export function useInspected(): [id: number | null, open: (id: number | null) => void] {
  const [search, setSearch] = useSearchParams();
  const open = useCallback(
    (id: number | null) =>
      setSearch((before) =>
        withParameters(before, id === null ? { [PARAMETER]: null, [TAB]: null } : { [PARAMETER]: String(id) }),
      ),
    [setSearch],
  );
  const text = search.get(PARAMETER);
  return [text && /^\d+$/.test(text) ? Number(text) : null, open];
}
