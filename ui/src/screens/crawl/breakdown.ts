export interface Part {
  name: string;
  count: number;
  rest?: number; // it stands for so many others
}

/** The first `limit` of a table of counts, the others as one line. `byCount`: the most frequent first, else as they come. */
export function partsOf(counts: Readonly<Record<string, number>>, limit: number, byCount: boolean): Part[] {
  const all = Object.entries(counts).map(([name, count]) => ({ name, count }));
  if (byCount) all.sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1));
  // One line more is no longer than the line that stands for it.
  if (all.length <= limit + 1) return all;
  const others = all.slice(limit);
  const count = others.reduce((sum, part) => sum + part.count, 0);
  return [...all.slice(0, limit), { name: "others", count, rest: others.length }];
}

const STATES_OF_ERRORS = new Set(["not_found", "forbidden", "http_error"]);

/** The list of URLs behind a kind of error: three kinds are states of their own, the others are reasons. */
export function errorPath(crawl: string, kind: string, of: "page" | "requisite" = "page"): string {
  const name = STATES_OF_ERRORS.has(kind) ? "state" : "reason";
  const asked = { ...(of === "page" ? {} : { kind: of }), [name]: kind };
  return `/crawls/${crawl}/urls?${new URLSearchParams(asked)}`;
}
