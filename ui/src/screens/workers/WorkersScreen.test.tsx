import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Access, Worker } from "../../api/types";
import { faults } from "../../testing/axe";
import { NAUGHTY_FEW, ran } from "../../testing/naughty";
import { aCaller, anOverview, aWorker } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { WorkersScreen } from "./WorkersScreen";

const worker = (id: number, fields: Partial<Worker> = {}) =>
  aWorker(id, { seen_at: new Date().toISOString(), ...fields });

const LOCAL = "PUT /api/v1/workers/local";

function serve(workers: Worker[], local: number | null = 2, access: Access = "admin"): void {
  server
    .on("GET /api/v1/workers", { workers, local })
    .on("GET /api/v1/stats", anOverview())
    .on("GET /api/v1/me", aCaller(access))
    .on(LOCAL, { workers, local });
}

const open = (address = "/workers") => showAt(address, [{ path: "/workers", element: <WorkersScreen /> }]);

describe("workers", () => {
  it("that live are in one table, by id, and the others are folded", async () => {
    serve([worker(9), worker(3), worker(5, { alive: false })]);
    const { search } = open();
    const table = await screen.findByRole("table", { name: /^Workers that live/ });
    const rows = within(table).getAllByRole("row").slice(1);
    expect(rows.map((row) => row.textContent?.slice(0, 1))).toEqual(["3", "9"]);
    expect(rows[0]?.textContent).toContain("50 %");
    expect(screen.queryByRole("table", { name: "Workers that ended" })).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Show 1" }));
    expect(await screen.findByRole("table", { name: "Workers that ended" })).toBeTruthy();
    expect(search()).toBe("?ended=1");
  });

  it("show three URLs, and all of them in a row below", async () => {
    const current = ["a", "b", "c", "d", "e"].map((path) => `https://example.com/${path}`);
    serve([worker(3, { in_flight: 8, current })]);
    const { search } = open();
    fireEvent.click(await screen.findByRole("button", { name: "and 5 more" }));
    expect(await screen.findByText(/3 more are not listed/)).toBeTruthy();
    expect(screen.getAllByText("/e")).toHaveLength(1);
    expect(search()).toBe("?open=3");
    fireEvent.keyDown(screen.getAllByRole("row")[1] ?? document.body, { key: "Enter" });
    await waitFor(() => expect(search()).toBe(""));
  });

  it("are added at once and removed after a question", async () => {
    serve([worker(3)], 2);
    open();
    fireEvent.click(await screen.findByRole("button", { name: "Add a worker" }));
    await waitFor(() => expect(server.to(LOCAL)[0]?.body).toEqual({ count: 3 }));
    const remove = screen.getByRole<HTMLButtonElement>("button", { name: "Remove a worker" });
    await waitFor(() => expect(remove.disabled).toBe(false));
    fireEvent.click(remove);
    const dialog = await screen.findByRole("dialog", { name: "Remove a worker of this server?" });
    expect(dialog.textContent).toContain("finishes what is in flight");
    expect(server.to(LOCAL)).toHaveLength(1);
    fireEvent.click(within(dialog).getByRole("button", { name: "Remove one" }));
    await waitFor(() => expect(server.to(LOCAL)[1]?.body).toEqual({ count: 1 }));
  });

  it("are not offered to those who may not", async () => {
    serve([worker(3)], 2, "write");
    open();
    expect((await screen.findByRole("group", { name: "Workers of this server" })).textContent).toContain("2");
    await waitFor(() => expect(server.to("GET /api/v1/me")).not.toHaveLength(0));
    expect(screen.queryByRole("button", { name: "Add a worker" })).toBeNull();
  });

  it("are missed in words, with the command", async () => {
    serve([], null);
    open();
    expect(await screen.findByText("No worker is alive: nothing is crawled now.")).toBeTruthy();
    expect(screen.getByText(/nephila worker --store/)).toBeTruthy();
    expect(screen.getByText("This server keeps no workers of its own.")).toBeTruthy();
  });

  it("can be asked for again after an error", async () => {
    serve([worker(3)]);
    server.on("GET /api/v1/workers", refusal(500, "something went wrong here"));
    open();
    expect((await screen.findByRole("alert")).textContent).toContain("something went wrong here");
    serve([worker(3)]);
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("host-3")).toBeTruthy();
  });

  it("with naughty names and URLs are text", async () => {
    serve(NAUGHTY_FEW.map((text, id) => worker(id + 1, { name: text, version: text, in_flight: 1, current: [text] })));
    open();
    await waitFor(() => expect(document.querySelector("tbody tr")).not.toBeNull());
    const rows = [...document.querySelectorAll("tbody tr")];
    expect(rows).toHaveLength(NAUGHTY_FEW.length);
    NAUGHTY_FEW.forEach((text, at) => {
      expect(rows[at]?.querySelector("bdi")?.textContent).toBe(text);
      expect(rows[at]?.querySelector("li")?.textContent).toBe(text);
    });
    expect(document.querySelector("tbody :is(script, img, svg, iframe, a, style, form)")).toBeNull();
    expect(ran()).toBe(false);
  });

  it("pass axe", async () => {
    serve([worker(3, { in_flight: 5, current: ["https://example.com/"] }), worker(5, { alive: false })]);
    open("/workers?ended=1&open=3");
    await screen.findByRole("table", { name: "Workers that ended" });
    expect(await faults()).toEqual([]);
  });
});
