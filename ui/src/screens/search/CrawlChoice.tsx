import { api } from "../../api/client";
import type { Crawl } from "../../api/types";
import { crawlName } from "./sentences";

const CRAWLS_MAX = 100; // of the list; an older one is chosen on its own page
const FRESH_MS = 10_000;

/** The newest crawls, for their names. */
export function useCrawlNames() {
  const { data } = api.useQuery(
    "get",
    "/api/v1/crawls",
    { params: { query: { limit: CRAWLS_MAX } } },
    { staleTime: FRESH_MS },
  );
  return { crawls: data?.crawls ?? [], more: Boolean(data?.next) };
}

/** An address may have the number or the uuid. */
function isCrawl({ id, crawl_id }: Crawl, named: string): boolean {
  return String(id) === named || crawl_id === named.toLowerCase();
}

interface Props {
  chosen: string;
  error: string;
  describedBy: string;
  onChoose: (crawl: string) => void;
}

export function CrawlChoice({ chosen, error, describedBy, onChoose }: Props) {
  const { crawls, more } = useCrawlNames();
  const found = crawls.find((crawl) => isCrawl(crawl, chosen));
  return (
    <select
      aria-label="Crawl"
      aria-invalid={error ? true : undefined}
      aria-describedby={error ? describedBy : undefined}
      value={found ? String(found.id) : chosen}
      onChange={(event) => onChoose(event.target.value)}
      className="input"
    >
      <option value="">Every crawl</option>
      {chosen && !found && <option value={chosen}>crawl {chosen}</option>}
      {crawls.map((crawl) => (
        <option key={crawl.id} value={crawl.id}>
          {crawlName(crawl)}
        </option>
      ))}
      {more && <option disabled>older ones: “Search this crawl” on their own page</option>}
    </select>
  );
}
