import { screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import type { ListedPage, ListedPages } from "../../../api/types";
import { faults } from "../../../testing/axe";
import { NAUGHTY } from "../../../testing/naughty";
import { aSitemap } from "../../../testing/records";
import { refusal, server } from "../../../testing/server";
import { showInCrawl } from "../../../testing/shown";
import { user } from "../../../testing/user";
import { SitemapsScreen } from "./SitemapsScreen";

const PATH = "GET /api/v1/crawls/7/sitemaps";
const views = [{ path: "sitemaps", element: <SitemapsScreen /> }];
const A = "https://example.com/";

const aPage = (id: number, url: string, sitemap: number | null): ListedPage => ({
  id,
  url,
  host: "example.com",
  state: "visited",
  sitemap,
});
const pages = (...urls: ListedPage[]): ListedPages => ({ urls, total: urls.length, next: null });

const GOOD = aSitemap({ images: 1200, videos: 1 });
const BROKEN = aSitemap({
  id: 4,
  url: `${A}old.xml`,
  reason: "unsafe_sitemap",
  format: "",
  entries: 0,
  admitted: 0,
  problem: "unsafe: it has a document type declaration (DTD)",
});

function serve(unlinked: ListedPages = pages(aPage(21, `${A}lonely`, 3)), unlisted: ListedPages = pages()) {
  server
    .on(PATH, { sitemaps: [GOOD, BROKEN], next: null })
    .on(`${PATH}/unlinked`, unlinked)
    .on(`${PATH}/unlisted`, unlisted);
}

it("lists sitemaps with what they list, how they were found, and what is wrong", async () => {
  serve();
  const { where } = showInCrawl("sitemaps", views);
  const table = await screen.findByRole("table", { name: "Sitemaps; Enter opens one" });
  const [good, broken] = within(table).getAllByRole("row").slice(1);
  expect(good?.textContent).toContain("named in robots.txt of example.com");
  expect(good?.textContent).toContain("1,200 images, 1 video");
  expect(within(table).getByText("unsafe: it has a document type declaration (DTD)")).toBeTruthy();
  expect(broken?.textContent).toContain("a sitemap with a DTD");
  expect(await screen.findByRole("link", { name: "1 page that only sitemaps list" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "2 sitemaps" }).getAttribute("aria-current")).toBe("true");
  expect(screen.getByRole("link", { name: "JSON" }).getAttribute("href")).toBe("/api/v1/crawls/7/sitemaps");
  expect(await faults()).toEqual([]);
  await user.click(within(table).getByText("urlset"));
  expect(where()).toBe("/crawls/7/sitemaps?inspect=3");
});

it("lists pages that only sitemaps list, each with its sitemap; a row opens the inspector", async () => {
  serve(pages(aPage(21, `${A}lonely`, 3), aPage(22, `${A}far`, 900)));
  const { where } = showInCrawl("sitemaps", views);
  await user.click(await screen.findByRole("link", { name: /pages that only sitemaps list$/ }));
  expect(where()).toBe("/crawls/7/sitemaps?list=unlinked");
  const table = await screen.findByRole("table", { name: /^Pages that only sitemaps list/ });
  const [first, second] = within(table).getAllByRole("row").slice(1);
  expect(first?.textContent).toContain("/sitemap.xml");
  expect(second?.textContent).toContain("number 900");
  expect(screen.getByRole("link", { name: "JSON" }).getAttribute("href")).toBe("/api/v1/crawls/7/sitemaps/unlinked");
  await user.click(within(table).getByText("/lonely"));
  expect(where()).toBe("/crawls/7/sitemaps?list=unlinked&inspect=21");
});

it("shows any URL as text", async () => {
  const naughty = NAUGHTY.map((url, at) => aPage(100 + at, `${at}${url}`, null));
  serve(pages(...naughty));
  const { container } = showInCrawl("sitemaps?list=unlinked", views);
  await screen.findByText("JSON");
  const shown = () => [...container.querySelectorAll("td.main bdi")].map((cell) => cell.getAttribute("title"));
  await waitFor(() => expect(shown()).toEqual(naughty.map(({ url }) => url)));
});

it("goes from page to page, and counts all of them", async () => {
  serve(pages(), { urls: [aPage(31, `${A}b`, null)], total: 300, next: 31 });
  const { where } = showInCrawl("sitemaps?list=unlisted&after=12", views);
  expect(await screen.findByRole("link", { name: "300 pages that only links lead to" })).toBeTruthy();
  const asked = () => server.to(`${PATH}/unlisted`).map(({ query }) => query.get("after"));
  expect(asked()).toEqual(["12"]);
  expect(screen.queryByRole("columnheader", { name: /Sitemap/ })).toBeNull();
  await user.click(screen.getByRole("link", { name: "Next page" }));
  expect(where()).toBe("/crawls/7/sitemaps?list=unlisted&after=31");
  await user.click(screen.getByRole("link", { name: /sitemaps$/ }));
  expect(where()).toBe("/crawls/7/sitemaps");
});

it("says that nothing is missing, and leads to the other list", async () => {
  serve(pages(), pages());
  const { where } = showInCrawl("sitemaps?list=unlinked", views);
  expect(await screen.findByText("Every page that a sitemap lists is linked, too.")).toBeTruthy();
  await user.click(screen.getByRole("link", { name: "Pages that only links lead to" }));
  expect(where()).toBe("/crawls/7/sitemaps?list=unlisted");
  expect(await screen.findByText("Sitemaps list every page that was found.")).toBeTruthy();
});

it("says what to do where there is no sitemap, and asks for no pages", async () => {
  server.on(PATH, { sitemaps: [], next: null });
  showInCrawl("sitemaps", views);
  expect(await screen.findByText("This crawl has met no sitemap.")).toBeTruthy();
  expect(screen.getByText(/nephila crawl --sitemap/)).toBeTruthy();
  expect(server.to(`${PATH}/unlinked`)).toEqual([]);
});

it("names the command for crawls that are too large, and says what failed", async () => {
  serve();
  server.on(`${PATH}/unlinked`, refusal(409, "crawl 7 has too many URLs for a request"));
  server.on(`${PATH}/unlisted`, refusal(409, "crawl 7 has kept no links (content.edges)"));
  const { unmount } = showInCrawl("sitemaps?list=unlinked", views);
  expect(await screen.findByText(/too many URLs for a request/)).toBeTruthy();
  expect(screen.getByText("nephila sitemaps 7 --unlinked")).toBeTruthy();
  await user.click(screen.getByRole("link", { name: "Pages that only links lead to" }));
  expect(await screen.findByText(/keeps links/)).toBeTruthy();
  unmount();
  server.on(PATH, refusal(422, "the crawl is odd"));
  showInCrawl("sitemaps", views);
  expect(await screen.findByText(/The sitemaps cannot be read/)).toBeTruthy();
});

it("says what in the address is wrong", async () => {
  serve();
  showInCrawl("sitemaps?list=bogus&after=x", views);
  expect(await screen.findByText("list: “bogus” is none of sitemaps, unlinked, unlisted")).toBeTruthy();
  expect(screen.getByText("after: “x” is no number of a URL")).toBeTruthy();
});
