import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { queries } from "../../api/client";
import { faults } from "../../testing/axe";
import { aCaller, aCrawl, anOverview, aProgress } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { user } from "../../testing/user";
import { CrawlsScreen } from "./CrawlsScreen";

const CRAWL = aCrawl({
  status: "completed",
  seeds: ["https://example.com/", "https://example.org/"],
  seeds_count: 3,
  states: { visited: 3800, not_found: 100 },
  errors: { not_found: 100 },
  bytes: 12_000_000,
  total: 3900,
  completed: 3800,
  pending: 0,
  failed: 100,
});
const RUNNING = aCrawl({ id: 8, total: 3900, pending: 2600, in_progress: 96 });
const LIST = "GET /api/v1/crawls";
const { sizes } = anOverview();

const show = (at = "/crawls") =>
  showAt(at, [
    { path: "/crawls", element: <CrawlsScreen /> },
    { path: "*", element: null },
  ]);

beforeEach(() => {
  server
    .on("GET /api/v1/me", aCaller("write"))
    .on("GET /api/v1/stats", anOverview({ sizes: { ...sizes, archive_bytes: 5_000_000_000 } }))
    .on(LIST, { crawls: [RUNNING, CRAWL], next: null })
    .on("GET /api/v1/crawls/8/progress", aProgress({ rate: 12.3, eta_seconds: 240 }));
});

describe("the list", () => {
  it("says of each crawl how far it is", async () => {
    show();
    const row = (await screen.findByRole("link", { name: "7" })).closest("tr") as HTMLElement;
    expect(within(row).getByText("completed")).toBeTruthy();
    expect(within(row).getByText("3,900")).toBeTruthy();
    expect(within(row).getByText("and 2 more seeds")).toBeTruthy();
    expect(within(row).getByText("12 MB")).toBeTruthy();
    expect(screen.getByText("1,204 of 3,900")).toBeTruthy();
  });

  it("asks running crawls alone for their rate and end", async () => {
    show();
    expect(await screen.findByText("12/s", { selector: "td *" })).toBeTruthy();
    expect(screen.getByText("about 4 min")).toBeTruthy();
    expect(server.to("GET /api/v1/crawls/7/progress")).toHaveLength(0);
  });

  it("has the numbers of the whole, and counts at the filter", async () => {
    show();
    expect(await screen.findByText("2 of 3")).toBeTruthy();
    expect(screen.getByText("5 GB")).toBeTruthy();
    expect(screen.getByRole("link", { name: "running 1" }).getAttribute("href")).toBe("/crawls?status=running");
    expect(screen.getByRole("link", { name: "all 2" }).getAttribute("aria-current")).toBe("page");
  });

  it("asks for what the address says", async () => {
    server.on(LIST, { crawls: [], next: null });
    show("/crawls?status=paused&after=51");
    await screen.findByText("There are no older crawls.");
    expect(String(server.to(LIST)[0]?.query)).toBe("limit=50&status=paused&after=51");
  });

  it("leads to older ones", async () => {
    server.on(LIST, { crawls: [CRAWL], next: 7 });
    show("/crawls?status=completed");
    const older = await screen.findByRole("link", { name: "Older" });
    expect(older.getAttribute("href")).toBe("/crawls?status=completed&after=7");
  });

  it("warns when nothing can be fetched", async () => {
    server.on("GET /api/v1/stats", anOverview({ workers_alive: 0 }));
    show();
    expect(await screen.findByText(/No worker is alive/)).toBeTruthy();
  });

  it("has nothing that axe finds", async () => {
    show();
    await screen.findByText("12/s", { selector: "td *" });
    expect(await faults()).toEqual([]);
  });
});

describe("a row", () => {
  it("opens by a click", async () => {
    const { where } = show();
    await user.click((await screen.findAllByText("completed", { selector: "td *" }))[0] as HTMLElement);
    expect(where()).toBe("/crawls/7");
  });

  it("opens by Enter, after arrows", async () => {
    const { where } = show();
    const rows = (await screen.findAllByRole("row")).filter((row) => row.tabIndex === 0);
    rows[0]?.focus();
    await user.keyboard("{ArrowDown}{Enter}");
    expect(where()).toBe("/crawls/7");
  });

  it("stays under the pointer while new ones come", async () => {
    show();
    await user.hover(await screen.findByText("3,900"));
    server.on(LIST, { crawls: [{ ...CRAWL, id: 9 }, RUNNING], next: null });
    await queries.invalidateQueries();
    expect(await screen.findByText(/1 new crawl/)).toBeTruthy();
    expect(screen.getByText("left this list")).toBeTruthy();
    await user.unhover(screen.getByText("left this list"));
    expect(await screen.findByRole("link", { name: "9" })).toBeTruthy();
    expect(screen.queryByRole("link", { name: "7" })).toBeNull();
  });
});

describe("deleting", () => {
  it("asks once, naming the crawl, and purges it", async () => {
    server.on("DELETE /api/v1/crawls/7", { rows: 1, files: 1 });
    const { where } = show();
    await user.click(await screen.findByRole("button", { name: "Delete crawl 7" }));
    const dialog = screen.getByRole("dialog", { name: "Delete crawl 7?" });
    expect(dialog.textContent).toContain("https://example.com/");
    expect(server.to("DELETE /api/v1/crawls/7")).toHaveLength(0);
    await user.click(within(dialog).getByRole("button", { name: "Delete crawl 7" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(server.to("DELETE /api/v1/crawls/7")[0]?.query.get("purge")).toBe("true");
    expect(where()).toBe("/crawls");
  });

  it("is offered for what is over only", async () => {
    show();
    await screen.findByRole("button", { name: "Delete crawl 7" });
    expect(screen.queryByRole("button", { name: "Delete crawl 8" })).toBeNull();
  });
});

describe("nothing there", () => {
  it("says what to do next", async () => {
    server.on(LIST, { crawls: [], next: null });
    show();
    expect(await screen.findByText("nephila crawl https://example.com/")).toBeTruthy();
    await waitFor(() => expect(screen.getAllByRole("link", { name: "New crawl" })).toHaveLength(2));
  });

  it("offers nothing that may not be done", async () => {
    server.on("GET /api/v1/me", aCaller("read"));
    show();
    await screen.findByRole("link", { name: "7" });
    await waitFor(() => expect(server.to("GET /api/v1/me")).not.toHaveLength(0));
    expect(screen.queryByRole("link", { name: "New crawl" })).toBeNull();
    expect(screen.queryByRole("button", { name: "Delete crawl 7" })).toBeNull();
  });

  it("says what failed, and tries again", async () => {
    server.on(LIST, refusal(500, "something went wrong here"));
    show();
    expect(await screen.findByText(/something went wrong here/)).toBeTruthy();
    server.on(LIST, { crawls: [CRAWL], next: null });
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("link", { name: "7" })).toBeTruthy();
  });
});
