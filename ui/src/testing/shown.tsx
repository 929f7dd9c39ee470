import { QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { createMemoryRouter, Outlet, type RouteObject, RouterProvider } from "react-router";
import { queries } from "../api/client";
import type { CrawlContext } from "../screens/crawl/context";
import { aDetail } from "./records";

/** A screen at an address, with nothing kept from the test before. */
export function showAt(address: string, routes: RouteObject[]) {
  queries.clear(); // the one that the screens know: they tell it what they have changed
  const router = createMemoryRouter(routes, { initialEntries: [address] });
  const shown = render(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  const search = () => router.state.location.search;
  return { ...shown, router, search, where: () => router.state.location.pathname + search() };
}

export const show = (element: ReactNode) => showAt("/", [{ path: "*", element }]);

/** What is inside of crawl 7, which is over, as its frame has it. `beside`: what stands beside each of the views. */
export function showInCrawl(address: string, views: RouteObject[], beside?: ReactNode) {
  const context: CrawlContext = {
    id: "7",
    detail: aDetail({ status: "completed", states: { visited: 3 } }),
    live: { line: "over", progress: null, history: [] },
  };
  const frame = (
    <>
      <Outlet context={context} />
      {beside}
    </>
  );
  const children = [...views, { path: "*", element: null }];
  return showAt(`/crawls/7/${address}`, [{ path: "crawls/:crawl", element: frame, children }]);
}
