import { useInspected } from "../screens/crawl/context";
import { Inspector } from "../screens/urls/Inspector";
import { PagesScreen, UrlsScreen } from "../screens/urls/UrlsScreen";
import { showInCrawl } from "./shown";

function Beside() {
  const [inspected, inspect] = useInspected();
  return inspected === null ? null : <Inspector crawl="7" url={inspected} onClose={() => inspect(null)} />;
}

/** The URLs of crawl 7, as its frame has them: with the inspector beside. */
export function showUrls(address: string) {
  const views = [
    { path: "urls", element: <UrlsScreen /> },
    { path: "pages", element: <PagesScreen /> },
  ];
  return showInCrawl(address, views, <Beside />);
}
