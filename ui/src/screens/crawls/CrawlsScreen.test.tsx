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

  it("leads to the next page", async () => {
    server.on(LIST, { crawls: [CRAWL], next: 7 });
    show("/crawls?status=completed");
    const next = await screen.findByRole("link", { name: "Next page" });
    expect(next.getAttribute("href")).toBe("/crawls?status=completed&after=7");
  });

  it("goes on by itself where one look found nothing, and never shows an empty page with a next one", async () => {
    server.on(LIST, { crawls: [], next: 70, total: null });
    const { where } = show("/crawls?text=docs");
    await waitFor(() => expect(where()).toBe("/crawls?text=docs&after=70"));
    expect(screen.queryByRole("link", { name: "Next page" })).toBeNull();
    server.on(LIST, { crawls: [CRAWL], next: null, total: null });
    expect(await screen.findByRole("link", { name: "7" })).toBeTruthy();
  });

  it("shows names, labels and how many there are, and searches by what is typed", async () => {
    const named = aCrawl({ name: "Docs <b>weekly</b>", labels: ["nightly", "team=docs"], status: "completed" });
    server.on(LIST, { crawls: [named], next: null, total: 1204 });
    const { where } = show("/crawls?label=nightly");
    expect(await screen.findByText("Docs <b>weekly</b>")).toBeTruthy();
    expect(screen.getByText("1,204 crawls")).toBeTruthy();
    expect(screen.getByRole("link", { name: "team=docs" }).getAttribute("href")).toBe("/crawls?label=team%3Ddocs");
    expect(server.to(LIST).at(-1)?.query.getAll("label")).toEqual(["nightly"]);
    await user.type(screen.getByRole("searchbox"), "week");
    await waitFor(() => expect(where()).toBe("/crawls?label=nightly&text=week"));
    const without = () => screen.getByRole("link", { name: "without the label nightly" });
    await waitFor(() => expect(without().getAttribute("href")).toBe("/crawls?text=week"));
    await user.click(without());
    await waitFor(() => expect(where()).toBe("/crawls?text=week"));
  });

  it("asks the server for the order of a heading, and says what cannot be sorted", async () => {
    const { where } = show("/crawls?after=51");
    await user.click(await screen.findByRole("button", { name: "Received" }));
    await waitFor(() => expect(where()).toBe("/crawls?sort=bytes&order=desc"));
    await waitFor(() => expect(server.to(LIST).at(-1)?.query.get("sort")).toBe("bytes"));
    expect(screen.getByRole("button", { name: "Pace" }).title).toMatch(/only crawls that run have one/);
  });

  it("shows another order at once, also under the focus, and leaves the focus on the heading", async () => {
    show();
    const heading = await screen.findByRole("button", { name: "Received" });
    heading.focus();
    server.on(LIST, { crawls: [CRAWL, RUNNING], next: null });
    await user.keyboard("{Enter}{ArrowDown}");
    await waitFor(() => expect(screen.getAllByRole("row")[1]?.textContent).toMatch(/^7/));
    expect(screen.getByRole("table").getAttribute("aria-busy")).toBe("false");
    await user.keyboard("{Home}{ArrowUp}");
    expect(heading.isConnected).toBe(true);
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "Id" }));
  });

  it("says what in the address is no filter, and asks nothing", async () => {
    show("/crawls?status=bogus");
    expect((await screen.findByRole("alert")).textContent).toMatch(/“bogus” is none of running, paused/);
    expect(server.to(LIST)).toHaveLength(0);
    expect(screen.getByRole("link", { name: "Show the list without it" }).getAttribute("href")).toBe("/crawls");
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
