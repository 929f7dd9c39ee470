import { cleanup, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { faults } from "../../testing/axe";
import { showUrls } from "../../testing/inspected";
import { NAUGHTY_FEW, ran } from "../../testing/naughty";
import { anExplanation, aRow } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { user } from "../../testing/user";

const CRAWL = "GET /api/v1/crawls/7";
const LIST = [aRow(1), aRow(2, { state: "failed", reason: "dns", status: null, latency_ms: null }), aRow(3)];
const rowsShown = () => screen.getAllByRole("row").slice(1);

beforeEach(() => {
  server.on(`${CRAWL}/urls`, () => ({ urls: LIST, next: null }));
  for (const one of LIST) server.on(`${CRAWL}/urls/${one.id}`, { ...one, facts: {} });
  server.on(`${CRAWL}/explain`, ({ query }) => {
    const found = LIST.find((one) => one.url === query.get("url"));
    return found ? anExplanation(found) : refusal(404, "no");
  });
});

describe("filters", () => {
  it("are read from the address and asked of the API", async () => {
    showUrls("urls?state=failed&state=visited&status=404&depth=2&reason=dns&host=a.example&text=x&order=desc");
    await screen.findByText("/1", { exact: false });
    const [first] = server.to(`${CRAWL}/urls`);
    expect(first?.query.toString()).toBe(
      "state=visited&state=failed&host=a.example&status=404&depth=2&reason=dns&text=x&limit=200&order=desc",
    );
  });

  it("that are typed wait for a pause, then go into the address and begin at the first page", async () => {
    const { search } = showUrls("urls?after=200");
    await user.type(await screen.findByLabelText("Part of the URL"), "news");
    await waitFor(() => expect(search()).toBe("?text=news"));
    await waitFor(() => expect(server.to(`${CRAWL}/urls`).at(-1)?.query.get("text")).toBe("news"));
    expect(server.to(`${CRAWL}/urls`).filter(({ query }) => query.has("text")).length).toBe(1);
  });

  it("of states are chosen together, and cleared", async () => {
    const { search } = showUrls("urls");
    await user.click(await screen.findByText("Any state"));
    await user.click(screen.getByRole("checkbox", { name: /^failed/ }));
    await user.click(screen.getByRole("checkbox", { name: /^not found/ }));
    expect(search()).toBe("?state=not_found&state=failed");
    await user.click(screen.getByRole("button", { name: "Clear filters" }));
    expect(search()).toBe("");
  });

  it("of the kind are there where the crawl has requisites, and count those", async () => {
    showUrls("urls");
    await screen.findByText("/1", { exact: false });
    expect(screen.queryByLabelText("Kind")).toBeNull();
    cleanup();
    const { search } = showUrls("urls?kind=requisite");
    await user.selectOptions(await screen.findByLabelText("Kind"), "Pages");
    expect(search()).toBe("");
    expect(server.to(`${CRAWL}/urls`).some(({ query }) => query.get("kind") === "requisite")).toBe(true);
  });

  it("that nothing matches can be cleared", async () => {
    server.on(`${CRAWL}/urls`, ({ query }) => ({ urls: query.has("text") ? [] : LIST, next: null }));
    const { search } = showUrls("urls?text=nothing");
    await screen.findByText("No URL matches these filters.");
    await user.click(screen.getAllByRole("button", { name: "Clear filters" })[1] as HTMLElement);
    expect(search()).toBe("");
    await waitFor(() => expect(rowsShown().length).toBe(3));
  });
});

describe("the list", () => {
  it("goes on by itself where a search finds too few, then asks", async () => {
    server.on(`${CRAWL}/urls`, ({ query }) => ({ urls: [], next: Number(query.get("after") ?? 0) + 10_000 }));
    showUrls("urls?text=rare");
    await user.click(await screen.findByRole("button", { name: "Go on" }));
    expect(server.to(`${CRAWL}/urls`).length).toBeGreaterThanOrEqual(6);
    await waitFor(() => expect(server.to(`${CRAWL}/urls`).length).toBe(11));
    expect(server.to(`${CRAWL}/urls`).at(-1)?.query.get("after")).toBe("100000");
  });

  it("has pages, forth and back", async () => {
    const many = Array.from({ length: 200 }, (_, at) => aRow(at + 1));
    server.on(`${CRAWL}/urls`, ({ query }) =>
      query.has("after") ? { urls: [aRow(201)], next: null } : { urls: many, next: 200 },
    );
    const { search } = showUrls("urls");
    await screen.findByText(/^page 1, 200 of /);
    await user.click(screen.getByText("Next"));
    await screen.findByText(/^page 2, 1 of .*, the last$/);
    expect(search()).toBe("?after=200");
    await user.click(screen.getByText("Previous"));
    expect(search()).toBe("");
  });

  it("says that a large crawl cannot be sorted and offers what can be", async () => {
    server.on(`${CRAWL}/urls`, ({ query }) =>
      query.has("sort") ? refusal(422, "list them by id") : { urls: LIST, next: null },
    );
    const { search } = showUrls("urls?sort=url");
    await user.click(await screen.findByRole("button", { name: "List them as found" }));
    expect(search()).toBe("");
    await waitFor(() => expect(rowsShown().length).toBe(3));
  });

  it("is sorted by its headings", async () => {
    const { search } = showUrls("urls");
    await user.click(await screen.findByRole("button", { name: "Fetched" }));
    expect(search()).toBe("?sort=fetched_at&order=desc");
    expect(screen.getByRole("columnheader", { name: "Fetched" }).getAttribute("aria-sort")).toBe("descending");
  });

  it("forgets a column until it is wanted again", async () => {
    showUrls("urls");
    await user.click(await screen.findByText("Columns"));
    await user.click(screen.getByRole("checkbox", { name: "Depth" }));
    expect(screen.queryByRole("columnheader", { name: "Depth" })).toBeNull();
    expect(localStorage.getItem("nephila.columns.urls")).toContain("depth");
  });

  it("says what failed and tries again", async () => {
    server.on(`${CRAWL}/urls`, () => refusal(500, "something went wrong here"));
    showUrls("urls");
    await screen.findByText(/something went wrong here/);
    server.on(`${CRAWL}/urls`, () => ({ urls: LIST, next: null }));
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(rowsShown().length).toBe(3));
  });

  it("is exported with its filters", async () => {
    showUrls("urls?state=failed&text=a");
    await user.click(await screen.findByText("Export"));
    expect(screen.getByRole("link", { name: "CSV" }).getAttribute("href")).toBe(
      `/api/v1/crawls/7/export?format=csv&state=failed&text=a`,
    );
  });
});

describe("a row", () => {
  it("opens the inspector by click and is marked; Esc closes it", async () => {
    const { search } = showUrls("urls?text=x");
    await user.click(await screen.findByText("/2", { exact: false }));
    expect(search()).toBe("?text=x&inspect=2");
    await screen.findByText("It ended failed.");
    expect(rowsShown()[1]?.getAttribute("aria-current")).toBe("true");
    await user.keyboard("{Escape}");
    expect(search()).toBe("?text=x");
  });

  it("is reached by arrows, opened by Enter, and has the focus back", async () => {
    showUrls("urls");
    await screen.findByText("/1", { exact: false });
    rowsShown()[0]?.focus();
    await user.keyboard("{ArrowDown}{Enter}");
    await screen.findByText("It ended failed.");
    expect(document.activeElement?.tagName).toBe("H2");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(rowsShown()[1]));
  });

  it("takes the open inspector along", async () => {
    const { search } = showUrls("urls?inspect=1");
    await screen.findByText("It ended visited.");
    rowsShown()[0]?.focus();
    await user.keyboard("{ArrowDown}");
    await waitFor(() => expect(search()).toBe("?inspect=2"));
    expect(document.activeElement).toBe(rowsShown()[1]);
  });

  it("opens the page itself on the screen of pages", async () => {
    const { search } = showUrls("pages");
    await user.click(await screen.findByText("Page 3"));
    expect(search()).toBe("?inspect=3&tab=rendering");
    expect(server.to(`${CRAWL}/urls`)[0]?.query.getAll("state")).toEqual(["visited"]);
  });
});

it("shows naughty texts as text", async () => {
  const naughty = NAUGHTY_FEW.map((text, at) =>
    aRow(at + 1, { url: `https://a.example/${text}`, reason: text, error: text, title: text }),
  );
  server.on(`${CRAWL}/urls`, { urls: naughty, next: null });
  localStorage.setItem("nephila.columns.urls", "[]");
  const { container } = showUrls("urls");
  await waitFor(() => expect(container.querySelectorAll("tbody tr").length).toBe(naughty.length));
  const rows = [...container.querySelectorAll("tbody tr")];
  NAUGHTY_FEW.forEach((text, at) => {
    expect(rows[at]?.textContent.split(text).length).toBeGreaterThan(2); // twice or more
  });
  expect(container.querySelector("script, img, td svg")).toBeNull();
  expect(ran()).toBe(false);
});

it("passes axe", async () => {
  showUrls("urls?inspect=1");
  await screen.findByText("It ended visited.");
  expect(await faults()).toEqual([]);
});
