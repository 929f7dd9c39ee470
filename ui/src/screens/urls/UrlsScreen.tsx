import { Listing } from "./list/Listing";

/** All URLs of a crawl, as a browser's network panel shows requests. */
export function UrlsScreen() {
  return <Listing view="urls" title="URLs" />;
}
