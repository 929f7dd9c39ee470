import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { faults } from "../../testing/axe";
import { refusal, server } from "../../testing/server";
import { showInCrawl } from "../../testing/shown";
import { user } from "../../testing/user";
import { CrawlRefused } from "./CrawlRefused";
import type { Refused } from "./RefusedPanel";

const PATH = "GET /api/v1/crawls/7/refused";
const views = [{ path: "refused", element: <CrawlRefused /> }];

function example(url: string, rule = "", more: { url_id?: number; found_on?: number } = {}) {
  return { url, host: "b.example", rule, url_id: null, found_on: null, ...more };
}

function refused(fields: Partial<Refused>): Refused {
  return {
    what: "link",
    reason: "scope",
    count: 3,
    decided_by: "setting",
    setting: "scope.mode",
    value: "same_host",
    examples: [],
    hosts: [],
    hosts_more: 0,
    rules: [],
    sampled: false,
    ...fields,
  };
}

const NAUGHTY = "https://b.example/<img src=x onerror=alert(1)>";
const SCOPE = refused({
  hosts: [{ name: "b.example", count: 1200, examples: [example(NAUGHTY, "", { found_on: 5 })] }],
  hosts_more: 4,
});
const ROBOTS = refused({
  what: "url",
  reason: "robots",
  count: 2,
  decided_by: "robots",
  setting: "robots.mode",
  value: "obey",
  rules: [{ name: "Disallow: /x (line 2)", count: 2, examples: [example("https://b.example/x", "", { url_id: 9 })] }],
});

it("lists what was refused by reason, host and rule, with examples and what decides", async () => {
  server.on(PATH, { refused: [SCOPE, ROBOTS] });
  const { search } = showInCrawl("refused", views);
  const scope = await screen.findByRole("region", { name: "the host is out of scope: 3 links" });
  expect(within(scope).getByText("scope.mode = same_host")).toBeTruthy();
  expect(within(scope).getByRole("link", { name: "b.example" }).getAttribute("href")).toBe("/hosts/b.example");
  expect(within(scope).getByText("1,200")).toBeTruthy();
  expect(within(scope).getByText("4 further hosts.")).toBeTruthy();
  expect(document.querySelector("img")).toBeNull();
  const robots = screen.getByRole("region", { name: "robots.txt disallows it: 2 URLs" });
  expect(within(robots).getByText("Disallow: /x (line 2)")).toBeTruthy();
  expect(await faults()).toEqual([]);
  await user.click(within(scope).getByRole("link", { name: `Page that links to ${NAUGHTY}` }));
  expect(search()).toBe("?inspect=5");
});

it("shows one reason alone", async () => {
  server.on(PATH, { refused: [SCOPE, refused({ reason: "rule", decided_by: "block", setting: "", value: null })] });
  showInCrawl("refused?reason=rule", views);
  expect(await screen.findByRole("region", { name: "a block rule: 3 links" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "Block rules of operators" })).toBeTruthy();
  expect(screen.queryByRole("region", { name: /scope/ })).toBeNull();
  expect(screen.getByRole("link", { name: "all reasons" })).toBeTruthy();
});

it("says that nothing was refused", async () => {
  server.on(PATH, { refused: [] });
  showInCrawl("refused", views);
  expect(await screen.findByText("Nothing was refused.")).toBeTruthy();
});

it("says what failed", async () => {
  server.on(PATH, refusal(422, "the crawl is odd"));
  showInCrawl("refused", views);
  expect(await screen.findByText(/What was refused cannot be read/)).toBeTruthy();
});
