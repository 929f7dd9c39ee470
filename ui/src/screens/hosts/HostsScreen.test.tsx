import { screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { faults } from "../../testing/axe";
import { aClock, aHost, aRule } from "../../testing/records";
import { server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { user } from "../../testing/user";
import { HostsScreen } from "./HostsScreen";

const routes = [{ path: "/hosts", element: <HostsScreen /> }];

const host = (name: string) =>
  aHost({
    clock: aClock({ host: name, rest_reason: "backoff" }, { errors: 3 }),
    rule: aRule({ host: name, blocked_in_ms: 7_200_000 }),
    robots_version: 2,
    robots_access: "hold",
  });

it("lists hosts with their rest, rule and robots.txt, each linked to its page", async () => {
  server.on("GET /api/v1/hosts", { hosts: [host("[::1]:8080")], next: null, total: 1, unsortable: "" });
  showAt("/hosts", routes);
  const link = await screen.findByRole("link", { name: "[::1]:8080" });
  expect(link.getAttribute("href")).toBe("/hosts/%5B%3A%3A1%5D%3A8080");
  expect(screen.getByText("backoff")).toBeTruthy();
  expect(screen.getByText(/^blocked, 2 h left/)).toBeTruthy();
  expect(screen.getByText("on hold")).toBeTruthy();
  expect(await faults()).toEqual([]);
});

it("filters by what is typed, in the address, from the first page on", async () => {
  server.on("GET /api/v1/hosts", { hosts: [host("a.example")], next: "a.example", total: 9, unsortable: "" });
  const { search } = showAt("/hosts?after=zzz", routes);
  await user.type(await screen.findByRole("searchbox"), "docs ");
  await waitFor(() => expect(search()).toBe("?text=docs"));
  await waitFor(() => expect(server.asked.at(-1)?.query.get("text")).toBe("docs"));
  expect(server.asked.at(-1)?.query.get("after")).toBeNull();
});

it("says what to do where there is nothing", async () => {
  server.on("GET /api/v1/hosts", { hosts: [], next: null, total: 1, unsortable: "" });
  showAt("/hosts", routes);
  expect(await screen.findByText("No host was asked for anything yet.")).toBeTruthy();
});

it("goes on by itself where one look found nothing", async () => {
  server.on("GET /api/v1/hosts", { hosts: [], next: "m.example", total: null, unsortable: "" });
  const { search } = showAt("/hosts?text=docs", routes);
  await waitFor(() => expect(search()).toBe("?text=docs&after=m.example"));
  expect(screen.queryByRole("link", { name: "Next page" })).toBeNull();
  expect(screen.getByText("too many hosts to be counted")).toBeTruthy();
});
