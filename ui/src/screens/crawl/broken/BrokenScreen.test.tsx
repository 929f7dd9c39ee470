import { screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import type { BrokenUrl, BrokenUrls } from "../../../api/types";
import { faults } from "../../../testing/axe";
import { NAUGHTY_FEW, ran } from "../../../testing/naughty";
import { aBrokenUrl, anInLink } from "../../../testing/records";
import { refusal, server } from "../../../testing/server";
import { showInCrawl } from "../../../testing/shown";
import { user } from "../../../testing/user";
import { BrokenScreen } from "./BrokenScreen";

const PATH = "GET /api/v1/crawls/7/broken";
const views = [{ path: "broken", element: <BrokenScreen /> }];
const A = "https://example.com/";
const TABLE = { name: "Broken URLs; Enter opens one" };

const broken = (urls: BrokenUrl[], fields: Partial<BrokenUrls> = {}): BrokenUrls => ({
  urls,
  next: null,
  pending_bytes: 0,
  ...fields,
});

const GONE = aBrokenUrl(21, [
  anInLink(2, { rel: "nofollow" }),
  anInLink(4, { url: `${A}old`, title: null, text: "", rel: "redirect" }),
  anInLink(2, { text: "the old one", via: `${A}old` }),
]);
const DEAD = aBrokenUrl(22, [], {
  state: "failed",
  reason: "timeout",
  status: null,
  error: "after 30 s",
  fetched_at: null,
});

it("lists what is broken, with the pages that link there and how", async () => {
  server.on(PATH, broken([GONE, DEAD]));
  const { where } = showInCrawl("broken", views);
  const table = await screen.findByRole("table", TABLE);
  const [gone, dead] = within(table).getAllByRole("row").slice(1) as [HTMLElement, HTMLElement];
  expect(gone.textContent).toContain("not found");
  expect(gone.textContent).toContain("404");
  const [first, second, third] = within(gone).getAllByRole("listitem");
  expect(first?.textContent).toBe("Page 2“words of 2”rel nofollow");
  expect(second?.textContent).toBe(`${A}oldredirects here`);
  expect(third?.textContent).toBe(`Page 2“the old one”to ${A}old, which redirects here`);
  for (const words of ["took too long", "after 30 s", "no page links there", "never"]) {
    expect(within(dead).getByText(words)).toBeTruthy();
  }
  expect(screen.getByRole("link", { name: "JSON" }).getAttribute("href")).toBe("/api/v1/crawls/7/broken");
  expect(await faults()).toEqual([]);
  await user.click(within(gone).getByText("not found"));
  expect(where()).toBe("/crawls/7/broken?inspect=21");
  await user.click(within(third as HTMLElement).getByTitle(`${A}old`));
  expect(where()).toBe("/crawls/7/broken?inspect=4");
  await user.click(within(first as HTMLElement).getByRole("link", { name: "Page 2" }));
  expect(where()).toBe("/crawls/7/broken?inspect=2");
});

it("leads to all pages where it tells only some of them", async () => {
  const row = aBrokenUrl(21, [anInLink(2)], { linked: { links: [anInLink(2)], total: 1200, total_exact: true } });
  server.on(PATH, broken([row]));
  const { where } = showInCrawl("broken", views);
  await user.click(await screen.findByRole("link", { name: "1,200 pages in all" }));
  expect(where()).toBe("/crawls/7/broken?inspect=21&tab=links");
});

it("goes from page to page", async () => {
  server.on(PATH, ({ query }) =>
    query.get("after") === "21"
      ? broken([DEAD])
      : query.get("after") === "22"
        ? broken([])
        : broken([GONE], { next: 21 }),
  );
  const { where, router } = showInCrawl("broken", views);
  await user.click(await screen.findByRole("link", { name: "Next page" }));
  expect(where()).toBe("/crawls/7/broken?after=21");
  expect(await screen.findByText("took too long")).toBeTruthy();
  expect(screen.getByText("this is the last page")).toBeTruthy();
  await router.navigate("/crawls/7/broken?after=22");
  expect(await screen.findByText("No more URLs are broken.")).toBeTruthy();
  await user.click(screen.getByRole("link", { name: "First page" }));
  expect(where()).toBe("/crawls/7/broken");
});

it("says that nothing is broken", async () => {
  server.on(PATH, broken([]));
  showInCrawl("broken", views);
  expect(await screen.findByText("Nothing is broken.")).toBeTruthy();
  expect(screen.getByText("nephila report broken 7")).toBeTruthy();
  expect(screen.queryByRole("status")).toBeNull();
  expect(await faults()).toEqual([]);
});

it("says that links are still being indexed", async () => {
  server.on(PATH, broken([aBrokenUrl(21)], { pending_bytes: 2000 }));
  showInCrawl("broken", views);
  expect(await screen.findByText(/Links are still being indexed: 2 KB of the archive/)).toBeTruthy();
  expect(await faults()).toEqual([]);
});

it("says what failed, and what in the address is wrong", async () => {
  server.on(PATH, refusal(422, "the crawl is odd"));
  const { router } = showInCrawl("broken", views);
  expect(await screen.findByText("The broken links cannot be read: the crawl is odd")).toBeTruthy();
  await router.navigate("/crawls/7/broken?after=x");
  expect(await screen.findByText("after: “x” is no number of a URL")).toBeTruthy();
});

it("shows any URL and any words as text", async () => {
  const links = NAUGHTY_FEW.map((text, at) => anInLink(at + 1, { url: text, title: text, text, rel: text, via: text }));
  const naughty = NAUGHTY_FEW.map((url, at) => aBrokenUrl(100 + at, at ? [] : links, { url, error: url, reason: url }));
  server.on(PATH, broken(naughty));
  const { container } = showInCrawl("broken", views);
  const shown = () => [...container.querySelectorAll("td.main > bdi")].map((cell) => cell.getAttribute("title"));
  await waitFor(() => expect(shown()).toEqual(naughty.map(({ url }) => url)));
  for (const text of NAUGHTY_FEW) expect(container.querySelector("ul")?.textContent).toContain(`“${text}”`);
  expect(container.querySelector("script, img, iframe")).toBeNull();
  for (const found of container.querySelectorAll("a")) expect(found.href).toMatch(/^https?:/);
  expect(ran()).toBe(false);
});
