/** Search parameters: a default is left out, so that an address says only what differs. */
export function withParameters(search: URLSearchParams, changes: Record<string, string | null>): URLSearchParams {
  const after = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) after.set(name, value);
    else after.delete(name);
  }
  return after;
}

/** One URL of a crawl, open in the inspector. */
export function inspectorOf(crawl: number, url: number): string {
  return `/crawls/${crawl}/urls?inspect=${url}`;
}

/** The screen of a host, whose name may have a port and brackets: "[::1]:8080". */
export const hostPath = (host: string): string => `/hosts/${encodeURIComponent(host)}`;
