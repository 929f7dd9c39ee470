import { screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Comparison } from "../../../api/types";
import { faults } from "../../../testing/axe";
import { NAUGHTY } from "../../../testing/naughty";
import { aCrawl } from "../../../testing/records";
import { refusal, server } from "../../../testing/server";
import { showInCrawl } from "../../../testing/shown";
import { user } from "../../../testing/user";
import { CompareScreen } from "./CompareScreen";

const views = [{ path: "compare", element: <CompareScreen /> }];
const ASKED = "GET /api/v1/crawls/3/differences";

const answer = (fields: Partial<Comparison>): Comparison => ({
  first: 3,
  second: 7,
  comparable: true,
  differences: [],
  counts: { added: 0, gone: 0, state: 0, content: 0, same: 0 },
  looked_at: 0,
  total: 5,
  next: null,
  ...fields,
});

const FIRST = answer({
  differences: [
    { change: "gone", url: "https://a.example/gone", first: { id: 31, state: "visited" }, second: null },
    {
      change: "state",
      url: "https://a.example/lost",
      first: { id: 32, state: "visited" },
      second: { id: 72, state: "not_found" },
    },
  ],
  counts: { added: 0, gone: 1, state: 1, content: 0, same: 1 },
  looked_at: 3,
  next: "second:0",
});
const SECOND = answer({
  differences: [{ change: "added", url: "https://a.example/new", first: null, second: { id: 73, state: "visited" } }],
  counts: { added: 1, gone: 0, state: 0, content: 0, same: 0 },
  looked_at: 2,
});

function serve() {
  server
    .on("GET /api/v1/crawls", { crawls: [aCrawl(), aCrawl({ id: 3 })], next: null })
    .on(ASKED, ({ query }) => (query.get("after") === "first:0" ? FIRST : SECOND));
}

it("asks since which crawl, and compares answer by answer", async () => {
  serve();
  const { where } = showInCrawl("compare", views);
  expect(screen.getByText("Choose the crawl that came before.")).toBeTruthy();
  await screen.findByRole("option", { name: "3: https://example.com/" });
  expect(screen.queryByRole("option", { name: /^7:/ })).toBeNull();
  await user.selectOptions(screen.getByLabelText("Since"), "3");
  expect(where()).toBe("/crawls/7/compare?since=3");
  expect(await screen.findByText("1 added, 1 gone, 1 in another state, 1 the same since crawl 3")).toBeTruthy();
  expect(server.to(ASKED).map(({ query }) => [query.get("to"), query.get("after")])).toEqual([
    ["7", "first:0"],
    ["7", "second:0"],
  ]);
  expect(screen.getByText("/new")).toBeTruthy();
  expect(await faults()).toEqual([]);
});

it("lists one kind, which the address has; a URL opens where it is", async () => {
  serve();
  const { where } = showInCrawl("compare?since=3", views);
  await user.click(await screen.findByRole("link", { name: "1 gone" }));
  expect(where()).toBe("/crawls/7/compare?since=3&change=gone");
  expect(screen.getByRole("link", { name: /\/gone$/ }).getAttribute("href")).toBe("/crawls/3/urls?inspect=31");
  await user.click(screen.getByRole("link", { name: "1 in another state" }));
  await user.click(screen.getByText("not found"));
  expect(where()).toBe("/crawls/7/compare?since=3&change=state&inspect=72");
  await user.click(screen.getByRole("link", { name: "0 with another content" }));
  expect(await screen.findByText("No URL is with another content.")).toBeTruthy();
});

it("says what is wrong, and tries again", async () => {
  serve();
  server.on(ASKED, refusal(404, "there is no crawl 3"));
  showInCrawl("compare?since=3", views);
  expect(await screen.findByText("The crawls cannot be compared: there is no crawl 3")).toBeTruthy();
  serve();
  await user.click(screen.getByRole("button", { name: "Try again" }));
  await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  expect(await screen.findByText(/^1 added, /)).toBeTruthy();
});

it("warns of crawls that normalise differently, and shows any URL as text", async () => {
  serve();
  const differences = NAUGHTY.map((url, at) => ({
    change: "added" as const,
    url: `${at}${url}`,
    first: null,
    second: { id: at + 1, state: "queued" as const },
  }));
  const counts = { added: differences.length, gone: 0, state: 0, content: 0, same: 0 };
  server.on(ASKED, answer({ comparable: false, differences, counts }));
  const { container } = showInCrawl("compare?since=3", views);
  expect((await screen.findByRole("note")).textContent).toContain("normalise URLs differently");
  const shown = [...container.querySelectorAll("tbody bdi")].map((cell) => cell.getAttribute("title"));
  expect(shown).toEqual(differences.map(({ url }) => url));
});
