import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { GraphNode } from "../../api/types";
import { faults } from "../../testing/axe";
import { node } from "../../testing/graphs";
import { refusal, server } from "../../testing/server";
import { showInCrawl } from "../../testing/shown";
import { user } from "../../testing/user";
import GraphScreen from "./GraphScreen";

const GRAPH = "GET /api/v1/crawls/7/graph";
const show = (search = "") => showInCrawl(`graph${search}`, [{ path: "graph", element: <GraphScreen /> }]);

function serve(nodes: GraphNode[], links: number[][] = []): void {
  server.on(GRAPH, ({ query }) => {
    const after = Number(query.get("after"));
    const tree = query.get("kind") === "discovery";
    const found = tree ? nodes.filter(({ id }) => id > after) : [];
    const edges = tree ? [] : links.filter(([source = 0]) => source > after);
    const next = (tree ? found.at(-1)?.id : edges.at(-1)?.[0]) ?? null;
    return { nodes: found, edges, next };
  });
}

const NASTY = '<img src=x onerror="window.hacked=1">';
const PAGES = [
  node(1, null, { title: "Front" }),
  node(2, 1, { title: NASTY, state: "failed" }),
  node(3, 1, { title: "Third" }),
];

describe("the graph screen, in a browser that cannot draw", () => {
  beforeEach(() =>
    serve(PAGES, [
      [1, 2],
      [1, 3],
      [3, 1],
    ]),
  );

  it("says so, and has counts, legend and lists all the same", async () => {
    show("?node=1");
    expect(await screen.findByText(/does not let the page draw with WebGL/)).toBeTruthy();
    expect(screen.getByRole("img", { name: /^Discovery tree with 3 nodes and 2 edges/ })).toBeTruthy();
    const legend = screen.getByRole("region", { name: "Legend by state" });
    expect(
      within(legend)
        .getByRole("button", { name: /visited 2/ })
        .getAttribute("aria-pressed"),
    ).toBe("true");
    const lists = screen.getByRole("region", { name: "Chosen node" });
    expect(within(lists).getByRole("link", { name: NASTY }).getAttribute("href")).toBe(
      "/crawls/7/graph?node=2&inspect=2",
    );
    expect(await faults()).toEqual([]);
  });

  it("hides and shows by the legend, in the address", async () => {
    const { search } = show();
    await user.click(await screen.findByRole("button", { name: /failed 1/ }));
    expect(search()).toBe("?hide=failed");
    expect(screen.getByText(/1 hidden by the legend/)).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Show all" }));
    expect(search()).toBe("");
  });

  it("finds a node with the keyboard, and focuses on it", async () => {
    const { search } = show();
    const box = await screen.findByRole("combobox", { name: /Find a node/ });
    await screen.findByRole("region", { name: "Legend by state" });
    await user.type(box, "page/");
    expect(within(await screen.findByRole("listbox")).getAllByRole("option")).toHaveLength(3);
    await user.keyboard("{ArrowDown}{ArrowDown}{Enter}");
    expect(search()).toBe("?node=3");
    await user.click(screen.getByRole("button", { name: "Focus" }));
    expect(search()).toBe("?node=3&focus=3");
    expect(screen.getByText(/1 hidden by the legend or the focus/)).toBeTruthy();
    await user.selectOptions(screen.getByRole("combobox", { name: "within" }), "2");
    expect(search()).toBe("?node=3&focus=3&steps=2");
  });

  it("shows links in and out of the link graph", async () => {
    show("?kind=links&node=3");
    await waitFor(() => expect(screen.getByText(/3 links/)).toBeTruthy());
    const lists = screen.getByRole("region", { name: "Chosen node" });
    expect(within(lists).getByRole("heading", { name: "Links in 1" })).toBeTruthy();
    expect(within(lists).getAllByRole("link", { name: "Front" })).toHaveLength(2);
  });
});

describe("the graph screen without a graph", () => {
  it("says that there is nothing, and what to do", async () => {
    serve([]);
    show();
    expect(await screen.findByText("There is nothing to draw.")).toBeTruthy();
    expect(screen.getByRole("link", { name: "See its URLs" }).getAttribute("href")).toBe("/crawls/7/urls");
  });

  it("says what failed, and tries again", async () => {
    server.on(GRAPH, refusal(500, "no store"));
    show();
    expect((await screen.findByRole("alert")).textContent).toContain("no store");
    serve(PAGES);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("region", { name: "Legend by state" })).toBeTruthy();
  });
});
