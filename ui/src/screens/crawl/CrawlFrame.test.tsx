import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { historyOf } from "../../api/live";
import { faults } from "../../testing/axe";
import { aCaller, aDetail, aProgress, aQueue, aRow } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { FakeSocket } from "../../testing/socket";
import { fill, user } from "../../testing/user";
import { NewCrawlScreen } from "../crawls/NewCrawlScreen";
import { CrawlFrame } from "./CrawlFrame";
import { CrawlHosts } from "./CrawlHosts";
import { CrawlOverview } from "./CrawlOverview";
import { isOfCrawl } from "./useLastRead";

const routes = [
  {
    path: "/crawls/:crawl",
    element: <CrawlFrame />,
    children: [
      { index: true, element: <CrawlOverview /> },
      { path: "hosts", element: <CrawlHosts /> },
    ],
  },
];

function serve(detail = aDetail()) {
  server
    .on("GET /api/v1/me", aCaller())
    .on("GET /api/v1/crawls/7", detail)
    .on("GET /api/v1/crawls/7/urls", { urls: [], next: null })
    .on("GET /api/v1/errors", { errors: [] })
    .on("GET /api/v1/settings", { process: [], crawl: [], profiles: { default: {} } });
}

const hear = (fields = {}) => act(async () => FakeSocket.last.say(aProgress(fields)));

beforeEach(() => {
  FakeSocket.install();
  historyOf("7").length = 0; // charts need a canvas, which jsdom lacks: they begin with the second sample
});

it("tells the crawl in one sentence, with what bounds it", async () => {
  serve();
  showAt("/crawls/7", routes);
  expect(await screen.findByRole("heading", { level: 1, name: "https://example.com/" })).toBeTruthy();
  await hear({
    hosts: [aQueue({ host: "slow.example", open: 60, delay_ms: 2000 })],
    bounded_by: { host: "slow.example", queued: 60, delay_ms: 2000 },
  });
  expect(screen.getByText(/bounded by slow\.example/)).toBeTruthy();
  expect(screen.getByText("live")).toBeTruthy();
  expect(screen.getByRole("img", { name: "slow.example needs 2 min" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "Search this crawl" }).getAttribute("href")).toBe("/search?crawl=7");
  expect(screen.getByRole("link", { name: "took too long" }).getAttribute("href")).toBe(
    "/crawls/7/urls?reason=timeout",
  );
  expect(await faults()).toEqual([]);
});

it("says that it reconnects", async () => {
  serve();
  showAt("/crawls/7", routes);
  await screen.findByRole("heading", { level: 1 });
  await hear();
  await act(async () => FakeSocket.last.end(1006));
  expect(screen.getByText("reconnecting").getAttribute("role")).toBe("status");
});

it("offers what fits the state, and cancels only after a question that names it", async () => {
  serve(aDetail({ status: "paused" }));
  server.on("POST /api/v1/crawls/7/cancel", aDetail({ status: "cancelled" }));
  showAt("/crawls/7", routes);
  expect(await screen.findByRole("button", { name: "Resume" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Pause" })).toBeNull();
  await user.click(screen.getByRole("button", { name: "Cancel" }));
  expect(screen.getByRole("heading", { name: "Cancel crawl 7?" })).toBeTruthy();
  expect(server.to("POST /api/v1/crawls/7/cancel")).toEqual([]);
  await user.click(screen.getByRole("button", { name: "Cancel the crawl" }));
  await waitFor(() => expect(server.to("POST /api/v1/crawls/7/cancel")).toHaveLength(1));
});

it("an unknown crawl leads back to all of them", async () => {
  showAt("/crawls/99", routes);
  expect(await screen.findByText("There is no crawl 99 here.")).toBeTruthy();
  expect(screen.getByRole("link", { name: "All crawls" })).toBeTruthy();
});

it("its hosts are filtered and sorted by the server, and can be blocked by an administrator", async () => {
  serve();
  const host = (name: string) => ({
    queue: aQueue({ host: name }),
    clock: null,
    robots_version: 1,
    robots_access: "rules",
  });
  const HOSTS = "GET /api/v1/crawls/7/hosts";
  server.on(HOSTS, { hosts: [host("a.example"), host("b.example")], next: null, total: 2, unsortable: "" });
  showAt("/crawls/7/hosts", routes);
  await screen.findByRole("link", { name: "a.example" });
  expect(screen.getByText("2 hosts")).toBeTruthy();
  await user.click(screen.getByRole("button", { name: "Fetched" }));
  await waitFor(() => expect(server.to(HOSTS).at(-1)?.query.get("sort")).toBe("fetched"));
  server.on(HOSTS, { hosts: [host("b.example")], next: null, total: 1, unsortable: "too many hosts" });
  await user.type(screen.getByRole("searchbox"), "b.");
  await waitFor(() => expect(screen.queryByRole("link", { name: "a.example" })).toBeNull());
  await waitFor(() => expect(server.to(HOSTS).at(-1)?.query.get("text")).toBe("b."));
  expect(screen.getByRole("button", { name: "Open" }).getAttribute("aria-disabled")).toBe("true");
  await user.click(await screen.findByRole("button", { name: "Block b.example" }));
  expect(screen.getByRole("heading", { name: "Block b.example" })).toBeTruthy();
  expect(await faults()).toEqual([]);
});

it("is read once more when it ends: its last visits come after the last poll", async () => {
  serve();
  const polled = ["crawls/7/urls", "crawls/7/stats", "crawls/7/history", "errors"].map((path) => `GET /api/v1/${path}`);
  const asked = () => polled.map((path) => server.to(path).length);
  showAt("/crawls/7", routes);
  await screen.findByText("Nothing was fetched yet.");
  let before: number[] = [];
  await act(async () => {
    before = asked();
    server.on("GET /api/v1/crawls/7/urls", { urls: [aRow(9)], next: null });
    FakeSocket.last.say(aProgress({ state: "completed", status: "completed", final: true }));
  });
  expect(await screen.findByTitle("https://example.com/9")).toBeTruthy();
  await waitFor(() => expect(asked().every((times, at) => times > (before[at] ?? 0))).toBe(true));
  expect(server.to("GET /api/v1/settings")).toHaveLength(1); // not of this crawl
});

it("knows which queries are of a crawl", () => {
  expect(isOfCrawl(["get", "/api/v1/crawls/{crawl}/stats", { params: { path: { crawl: "7" } } }], "7")).toBe(true);
  expect(isOfCrawl(["get", "/api/v1/errors", { params: { query: { crawl: "7" } } }], "7")).toBe(true);
  expect(isOfCrawl(["urls", "7", "[]"], "7")).toBe(true);
  expect(isOfCrawl(["get", "/api/v1/crawls/{crawl}/stats", { params: { path: { crawl: "70" } } }], "7")).toBe(false);
  expect(isOfCrawl(["get", "/api/v1/me", {}], "7")).toBe(false);
  expect(isOfCrawl(["get", "/api/v1/me"], "7")).toBe(false);
});

const ended = (fields: Parameters<typeof aDetail>[0] = {}) =>
  aDetail({ status: "completed", settings: { limits: { max_pages: 50 } }, ...fields });

it("runs a crawl that is over again, and leads to the new one", async () => {
  serve(ended());
  server.on("POST /api/v1/crawls/7/again", aDetail({ id: 8 })).on("GET /api/v1/crawls/8", aDetail({ id: 8 }));
  const { where } = showAt("/crawls/7", routes);
  await user.click(await screen.findByRole("button", { name: "Run again" }));
  await waitFor(() => expect(where()).toBe("/crawls/8"));
  expect(screen.queryByRole("button", { name: "Go on" })).toBeNull();
});

it("hands a copy of its seeds and settings to the form", async () => {
  serve(ended());
  const { where } = showAt("/crawls/7", [...routes, { path: "/crawls/new", element: <NewCrawlScreen /> }]);
  await user.click(await screen.findByRole("link", { name: "Edit a copy" }));
  expect(await screen.findByDisplayValue("https://example.com/")).toBe(screen.getByLabelText("Seeds"));
  await waitFor(() => expect(where()).toBe("/crawls/new?seed=https%3A%2F%2Fexample.com%2F"));
});

it("goes on with a crawl that a limit has ended, when a higher one is given", async () => {
  serve(ended({ reason: "limit_pages", limited_by: "max_pages" }));
  const RESUME = "POST /api/v1/crawls/7/resume";
  server.on(RESUME, refusal(409, "crawl 7 has used 50 of max_pages: give a higher max_pages", "max_pages"));
  showAt("/crawls/7", routes);
  await user.click(await screen.findByRole("button", { name: "Go on" }));
  const dialog = within(screen.getByRole("dialog"));
  expect((dialog.getByLabelText("Pages") as HTMLInputElement).value).toBe("50");
  await fill(dialog.getByLabelText("Pages"), "many");
  await user.click(dialog.getByRole("button", { name: "Go on" }));
  expect(dialog.getByRole("alert").textContent).toBe("type a whole number");
  await fill(dialog.getByLabelText("Pages"), "50");
  await user.click(dialog.getByRole("button", { name: "Go on" }));
  await waitFor(() => expect(dialog.getByRole("alert").textContent).toContain("give a higher Pages"));
  server.on(RESUME, aDetail());
  await fill(dialog.getByLabelText("Pages"), "100");
  await user.click(dialog.getByRole("button", { name: "Go on" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.to(RESUME).map(({ body }) => body)).toEqual([{ max_pages: 50 }, { max_pages: 100 }]);
});
