import { act, screen, waitFor } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { historyOf } from "../../api/live";
import { faults } from "../../testing/axe";
import { aCaller, aDetail, aProgress, aQueue } from "../../testing/records";
import { server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { FakeSocket } from "../../testing/socket";
import { user } from "../../testing/user";
import { CrawlFrame } from "./CrawlFrame";
import { CrawlHosts } from "./CrawlHosts";
import { CrawlOverview } from "./CrawlOverview";

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

it("its hosts are filtered on the page that is shown, and can be blocked by an administrator", async () => {
  serve();
  const host = (name: string) => ({
    queue: aQueue({ host: name }),
    clock: null,
    robots_version: 1,
    robots_access: "rules",
  });
  server.on("GET /api/v1/crawls/7/hosts", { hosts: [host("a.example"), host("b.example")], next: null });
  showAt("/crawls/7/hosts", routes);
  await screen.findByRole("link", { name: "a.example" });
  await user.type(screen.getByRole("searchbox"), "b.");
  await waitFor(() => expect(screen.queryByRole("link", { name: "a.example" })).toBeNull());
  await user.click(await screen.findByRole("button", { name: "Block b.example" }));
  expect(screen.getByRole("heading", { name: "Block b.example" })).toBeTruthy();
  expect(await faults()).toEqual([]);
});
