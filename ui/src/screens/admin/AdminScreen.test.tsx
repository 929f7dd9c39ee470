import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { queries } from "../../api/client";
import { keepSecret, secret } from "../../api/secret";
import type { Access } from "../../api/types";
import { faults } from "../../testing/axe";
import { NAUGHTY } from "../../testing/naughty";
import { aBlock, aCaller, anError, anOverview, aToken } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { AdminScreen } from "./AdminScreen";
import { SECTIONS } from "./sections";

const SETTING = { name: "workers", value: "2", default: "1", source: "option", help: "Worker processes to start." };

const BLOCKS = "POST /api/v1/blocks";
const TOKENS = "POST /api/v1/tokens";
const errors = (...ids: number[]) => ({ errors: ids.map((id) => anError(id)) });

function serve(access: Access = "admin", token = true): void {
  server
    .on("GET /api/v1/me", { ...aCaller(access, token), name: "token-1" })
    .on("GET /api/v1/blocks", { blocks: [aBlock(1, "spam.example"), aBlock(2, "ads.example")] })
    .on("GET /api/v1/floor", { floor_ms: 2000 })
    .on("GET /api/v1/errors", { errors: [anError(2, { reason: "dns" }), anError(1)] })
    .on("GET /api/v1/stats", anOverview())
    .on("GET /api/v1/tokens", { tokens: [] })
    .on("GET /api/v1/settings", { process: [SETTING], crawl: [], profiles: {} });
}

function open(section?: string, more = "") {
  const address = section ? `/admin?section=${section}${more}` : "/admin";
  const routes = [
    { path: "/admin", element: <AdminScreen /> },
    { path: "/crawls/:crawl/urls", element: <p>the inspector</p> },
  ];
  return showAt(address, routes);
}

const click = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));
const type = (name: string, value: string) => fireEvent.change(screen.getByLabelText(name), { target: { value } });
const alerts = () => screen.getAllByRole("alert").map(({ textContent }) => textContent);

beforeEach(() => serve());

describe("sections", () => {
  it.each(SECTIONS.map(({ key, text }) => [key, text]))("%s is in the address, and passes axe", async (key, text) => {
    open(key);
    await screen.findByRole("link", { name: text, current: "page" });
    await waitFor(() => expect(screen.queryByText(/^loading/)).toBeNull());
    expect(await faults()).toEqual([]);
  });

  it.each([
    ["tokens", /needs a token with access admin; token-1 has read/],
    ["settings", /needs a token with access admin; token-1 has read/],
    ["rules", /To change this you need/],
    ["rate", /To change this you need/],
  ])("%s says what it needs", async (key, words) => {
    serve("read");
    open(key);
    await waitFor(() => expect(document.body.textContent).toMatch(words));
    expect(screen.queryByRole("button", { name: /Remove|Block|Set|Make/ })).toBeNull();
    expect(server.to("GET /api/v1/tokens")).toEqual([]);
  });
});

describe("block rules", () => {
  it("are added many at once", async () => {
    server.on(BLOCKS, { blocks: [] });
    open();
    await screen.findByLabelText("Domains");
    type("Domains", "a.example\nb.example");
    type("Reason", "why not");
    click("Block 2");
    await waitFor(() =>
      expect(server.to(BLOCKS)[0]?.body).toEqual({
        kind: "domain",
        values: ["a.example", "b.example"],
        reason: "why not",
      }),
    );
    await waitFor(() => expect(screen.getByLabelText<HTMLTextAreaElement>("Domains").value).toBe(""));
  });

  it("that are wrong are said at their field, and kept", async () => {
    server.on(BLOCKS, refusal(422, "'a/b' is no host", "values"));
    open();
    await screen.findByLabelText("Domains");
    click("Block");
    expect(alerts()).toEqual(["Give at least one."]);
    type("Domains", "a/b");
    click("Block");
    await waitFor(() => expect(alerts()).toEqual(["'a/b' is no host"]));
    expect(screen.getByLabelText("Domains").getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByLabelText<HTMLTextAreaElement>("Domains").value).toBe("a/b");
  });

  it("are removed after a question that names them", async () => {
    server.on("DELETE /api/v1/blocks/2", null);
    open();
    fireEvent.click(await screen.findByRole("button", { name: "Remove the rule ads.example" }));
    const dialog = screen.getByRole("dialog", { name: "Remove the rule ads.example?" });
    fireEvent.click(within(dialog).getByRole("button", { name: "Remove the rule" }));
    await waitFor(() => expect(server.to("DELETE /api/v1/blocks/2")).toHaveLength(1));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("are filtered by what the address says, and the address follows the typing", async () => {
    const { router, search } = open("rules", "&text=ads");
    await screen.findByText("ads.example");
    expect(screen.queryByText("spam.example")).toBeNull();
    type("Filter rules", "spam.");
    expect(screen.getByText("spam.example")).toBeTruthy();
    await waitFor(() => expect(search()).toBe("?section=rules&text=spam."));
    await act(() => router.navigate("/admin?section=rules"));
    await waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Filter rules").value).toBe(""));
  });
});

describe("the global rate", () => {
  it("is changed in words", async () => {
    server.on("PUT /api/v1/floor", { floor_ms: 500 });
    open("rate");
    const field = await screen.findByRole<HTMLInputElement>("textbox", { name: /At least this long/ });
    expect(field.value).toBe("2 s");
    fireEvent.change(field, { target: { value: "3" } });
    click("Set");
    expect(alerts()[0]).toMatch(/with its unit/);
    fireEvent.change(field, { target: { value: "500 ms" } });
    click("Set");
    await waitFor(() => expect(server.to("PUT /api/v1/floor")[0]?.body).toEqual({ floor_ms: 500 }));
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  });
});

describe("recent errors", () => {
  it("wait behind a button when they are new", async () => {
    open("errors");
    await screen.findByRole("table");
    server.on("GET /api/v1/errors", errors(4, 3, 2, 1));
    await act(() => queries.invalidateQueries());
    expect(screen.getAllByRole("row")).toHaveLength(3);
    fireEvent.click(await screen.findByRole("button", { name: "2 new" }));
    expect(screen.getAllByRole("row")).toHaveLength(5);
  });

  it("are filtered by reason and lead to the inspector", async () => {
    const { search } = open("errors");
    await screen.findByRole("table");
    type("Reason", "dns");
    await waitFor(() => expect(screen.getAllByRole("row")).toHaveLength(2));
    expect(search()).toBe("?section=errors&reason=dns");
    const row = screen.getAllByRole("row")[1];
    fireEvent.keyDown(row ?? document.body, { key: "Enter" });
    await screen.findByText("the inspector");
    expect(search()).toBe("?inspect=72");
  });

  it("are text, whatever they say", async () => {
    const all = NAUGHTY.map((text, at) => anError(1000 - at, { url: text, detail: text, reason: text }));
    server.on("GET /api/v1/errors", { errors: all });
    open("errors");
    // Not by role: that looks at each of some thousand elements, again and again.
    await waitFor(() => expect(document.querySelector("tbody tr")).not.toBeNull());
    const rows = [...document.querySelectorAll("tbody tr")];
    NAUGHTY.forEach((text, at) => {
      const link = rows[at]?.querySelector("a");
      expect(link?.textContent).toBe(text);
      expect(link?.getAttribute("href")).toBe(`/crawls/7/urls?inspect=${1070 - at}`);
    });
    expect(document.querySelector("tbody :is(script, img, svg, iframe, style, form)")).toBeNull();
  });
});

describe("storage", () => {
  it("has the sizes, and says when nothing can be stored", async () => {
    const { process } = anOverview();
    server.on("GET /api/v1/stats", anOverview({ process: { ...process, waiting: "the disk is full" } }));
    open("storage");
    expect(await screen.findByText("Nothing can be stored now: the disk is full")).toBeTruthy();
    expect(screen.getByText("40 % of received")).toBeTruthy();
  });
});

describe("tokens", () => {
  const made = { ...aToken(1), secret: "nph_secret" };

  it("warn before the first, which this tab keeps", async () => {
    serve("admin", false);
    server.on(TOKENS, made);
    open("tokens");
    expect(await screen.findByText(/This will be the first token/)).toBeTruthy();
    expect(screen.getByLabelText<HTMLSelectElement>("Access").disabled).toBe(true);
    type("Name", "token-1");
    click("Make the first token");
    const dialog = await screen.findByRole("dialog", { name: "The token token-1" });
    expect(dialog.textContent).toContain("nph_secret");
    expect(dialog.textContent).toContain("not shown again");
    expect(server.to(TOKENS)[0]?.body).toEqual({ name: "token-1", access: "admin" });
    expect(secret()).toBe("nph_secret");
    await waitFor(() => expect(server.asked.at(-1)?.headers.get("Authorization")).toBe("Bearer nph_secret"));
    click("I have put it away");
    expect(document.body.textContent).not.toContain("nph_secret");
  });

  it("that come later do not replace the one of this tab", async () => {
    keepSecret("nph_mine", false);
    server.on("GET /api/v1/tokens", { tokens: [aToken(1)] });
    server.on(TOKENS, { ...made, ...aToken(2, "read") });
    open("tokens");
    await screen.findByLabelText("Name");
    expect(screen.queryByText(/first token/)).toBeNull();
    type("Name", "token-2");
    type("Access", "read");
    click("Make the token");
    await screen.findByRole("dialog");
    expect(secret()).toBe("nph_mine");
  });

  it("that cannot be made say why, at the field", async () => {
    server.on("GET /api/v1/tokens", { tokens: [aToken(1)] });
    server.on(TOKENS, refusal(409, "there is a token x already", "name"));
    open("tokens");
    await screen.findByLabelText("Name");
    click("Make the token");
    expect(alerts()).toEqual(["Give it a name: who or what uses it."]);
    type("Name", "x");
    click("Make the token");
    await waitFor(() => expect(alerts()).toEqual(["there is a token x already"]));
  });

  it("are revoked after a question; one's own is forgotten", async () => {
    keepSecret("nph_mine", false);
    server.on("GET /api/v1/tokens", { tokens: [aToken(1), aToken(2)] });
    server.on("DELETE /api/v1/tokens/1", null);
    open("tokens");
    fireEvent.click(await screen.findByRole("button", { name: "Revoke the token token-1" }));
    const dialog = screen.getByRole("dialog", { name: "Revoke the token token-1?" });
    expect(dialog.textContent).toContain("the one of this tab");
    fireEvent.click(within(dialog).getByRole("button", { name: "Revoke it" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(secret()).toBeNull();
  });
});

describe("settings", () => {
  it("show what was chosen and what it would be", async () => {
    open("settings");
    const row = (await screen.findByText("workers")).closest("tr");
    expect(row?.textContent).toBe("workers21optionWorker processes to start.");
    type("Filter settings", "nothing");
    expect(screen.getByText("No setting has this text.")).toBeTruthy();
  });
});
