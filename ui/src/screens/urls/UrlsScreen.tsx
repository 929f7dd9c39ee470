import type { UrlRow, UrlState } from "../../api/types";
import { Listing } from "./list/Listing";
import { mayBeHtml } from "./safe";

const VISITED: UrlState[] = ["visited"];

const tabOf = (row: UrlRow) => (mayBeHtml(row.content_type) ? "rendering" : "source");

/** All URLs of a crawl, as a browser's network panel shows requests. */
export function UrlsScreen() {
  return <Listing view="urls" title="URLs" />;
}

/** What a crawl has archived: a row opens the page itself. */
export function PagesScreen() {
  return <Listing view="pages" title="Pages" states={VISITED} tabOf={tabOf} />;
}
