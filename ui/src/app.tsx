import { QueryClientProvider } from "@tanstack/react-query";
import { lazy } from "react";
import { createBrowserRouter, Navigate, RouterProvider } from "react-router";
import { queries } from "./api/client";
import { AdminScreen } from "./screens/admin/AdminScreen";
import { BrokenScreen } from "./screens/crawl/broken/BrokenScreen";
import { CrawlFrame } from "./screens/crawl/CrawlFrame";
import { CrawlHosts } from "./screens/crawl/CrawlHosts";
import { CrawlOverview } from "./screens/crawl/CrawlOverview";
import { CrawlRefused } from "./screens/crawl/CrawlRefused";
import { CompareScreen } from "./screens/crawl/compare/CompareScreen";
import { SitemapsScreen } from "./screens/crawl/sitemaps/SitemapsScreen";
import { CrawlsScreen } from "./screens/crawls/CrawlsScreen";
import { NewCrawlScreen } from "./screens/crawls/NewCrawlScreen";
import { HostScreen } from "./screens/hosts/HostScreen";
import { HostsScreen } from "./screens/hosts/HostsScreen";
import { Lost } from "./screens/Lost";
import { Shell } from "./screens/Shell";
import { SearchScreen } from "./screens/search/SearchScreen";
import { PagesScreen, UrlsScreen } from "./screens/urls/UrlsScreen";
import { WorkersScreen } from "./screens/workers/WorkersScreen";

// Loaded when needed: WebGL, the layouts and their worker are more than all the rest.
const GraphScreen = lazy(() => import("./screens/graph/GraphScreen"));

const router = createBrowserRouter(
  [
    {
      element: <Shell />,
      errorElement: <Lost />,
      children: [
        { index: true, element: <Navigate to="/crawls" replace /> },
        { path: "crawls", element: <CrawlsScreen /> },
        { path: "crawls/new", element: <NewCrawlScreen /> },
        {
          path: "crawls/:crawl",
          element: <CrawlFrame />,
          children: [
            { index: true, element: <CrawlOverview /> },
            { path: "urls", element: <UrlsScreen /> },
            { path: "graph", element: <GraphScreen /> },
            { path: "hosts", element: <CrawlHosts /> },
            { path: "refused", element: <CrawlRefused /> },
            { path: "sitemaps", element: <SitemapsScreen /> },
            { path: "broken", element: <BrokenScreen /> },
            { path: "pages", element: <PagesScreen /> },
            { path: "compare", element: <CompareScreen /> },
          ],
        },
        { path: "search", element: <SearchScreen /> },
        { path: "hosts", element: <HostsScreen /> },
        { path: "hosts/:host", element: <HostScreen /> },
        { path: "workers", element: <WorkersScreen /> },
        { path: "admin", element: <AdminScreen /> },
        { path: "*", element: <Lost /> },
      ],
    },
  ],
  { basename: "/ui" },
);

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}
