import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Access } from "../../api/types";
import { faults } from "../../testing/axe";
import { aCaller, aClock, aRobots } from "../../testing/records";
import { server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { HostScreen } from "./HostScreen";

const NAUGHTY = "User-agent: *\n<script>alert(1)</script>\nDisallow: /<img src=x onerror=alert(1)>";
const routes = [{ path: "/hosts/:host", element: <HostScreen /> }];

function known(access: Access) {
  const clock = aClock({ delay_ms: 5000, requests: 1234 }, { crawl_delay_ms: 5000 });
  const robots = aRobots({ text: NAUGHTY });
  server
    .on("GET /api/v1/me", aCaller(access))
    .on("GET /api/v1/floor", { floor_ms: 0 })
    .on("GET /api/v1/hosts/a.example", { host: "a.example", clock, rule: null, robots: [robots] })
    .on("GET /api/v1/hosts/a.example/robots", { robots: [robots] });
}

it("shows the clock, which part decides, and a robots.txt as text whatever is in it", async () => {
  known("read");
  showAt("/hosts/a.example", routes);
  expect(await screen.findByText("1,234")).toBeTruthy();
  expect(screen.getByText("crawl-delay (decides)")).toBeTruthy();
  expect(await screen.findByText("<script>alert(1)</script>")).toBeTruthy();
  expect(document.querySelector("script, img")).toBeNull();
  expect(screen.queryByRole("button", { name: "Block for" })).toBeNull();
});

it("offers its actions to an administrator", async () => {
  known("admin");
  showAt("/hosts/a.example", routes);
  expect(await screen.findByRole("button", { name: "Block for" })).toBeTruthy();
  expect(screen.getByRole("button", { name: "Override delay" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Remove the rule" })).toBeNull();
  expect(await faults()).toEqual([]);
});

it("says that nothing is known, and where to go", async () => {
  showAt("/hosts/new.example", routes);
  expect(await screen.findByText("Nothing is known of new.example.")).toBeTruthy();
  expect(screen.getByRole("link", { name: "All hosts that are known" })).toBeTruthy();
});
