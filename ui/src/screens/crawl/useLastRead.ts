import type { QueryKey } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { queries } from "../../api/client";

// The server keeps answers for a second: what it says sooner may be of before the end.
const AFTER_MS = 1200;

interface Asked {
  params?: { path?: { crawl?: unknown }; query?: { crawl?: unknown } };
}

/** Whether a query is about a crawl: one of the API by its parameters, one of our own as `[name, crawl, ...]`. */
export function isOfCrawl([, second, third]: QueryKey, crawl: string): boolean {
  const params = (third as Asked | undefined)?.params;
  return [second, params?.path?.crawl, params?.query?.crawl].includes(crawl);
}

/** Reads all that is shown of a crawl once more when it ends: nothing is polled from then on, and its last visits came
 * after the last read. `over`: undefined as long as it is not known. */
export function useLastRead(crawl: string, over: boolean | undefined): void {
  const ran = useRef(false);
  useEffect(() => {
    if (over === false) ran.current = true;
    if (!over || !ran.current) return;
    ran.current = false;
    const renew = () => void queries.invalidateQueries({ predicate: ({ queryKey }) => isOfCrawl(queryKey, crawl) });
    const timer = setTimeout(renew, AFTER_MS);
    return () => clearTimeout(timer);
  }, [crawl, over]);
}
