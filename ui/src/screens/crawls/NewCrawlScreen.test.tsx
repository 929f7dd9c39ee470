import { screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { CrawlSetting } from "../../api/types";
import { faults } from "../../testing/axe";
import { aCaller, aSetting } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { fill, user } from "../../testing/user";

import { NewCrawlScreen } from "./NewCrawlScreen";

const POST = "POST /api/v1/crawls";

const setting = (name: string, plain: unknown, type: CrawlSetting["type"], admin = false) =>
  aSetting(name, plain, { type, admin });

const NUMBER = { type: "integer", minimum: 0, maximum: 604_800_000 };
const LINES = { type: "array", items: { type: "string" } };
const PAIRS = {
  type: "array",
  items: { type: "array", minItems: 2, maxItems: 2, prefixItems: [{ type: "string" }, { type: "string" }] },
};

const SETTINGS = {
  process: [],
  crawl: [
    setting("norm.fold_www", false, { type: "boolean" }),
    setting("scope.mode", "same_host", { enum: ["same_host", "any"], type: "string" }),
    setting("scope.include", [], LINES),
    setting("limits.max_pages", null, { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] }),
    setting("polite.floor_ms", 1000, NUMBER),
    setting("polite.adaptive", true, { type: "boolean" }),
    setting("polite.jitter_ms", 0, NUMBER),
    setting("robots.mode", "obey", { enum: ["obey", "ignore"], type: "string" }),
    setting("fetch.headers", [], PAIRS),
    setting("fetch.allow_private", false, { type: "boolean" }, true),
  ],
  profiles: { default: {}, broad: { "scope.mode": "any", "polite.floor_ms": 250 } },
};

const show = (at = "/crawls/new") =>
  showAt(at, [
    { path: "/crawls/new", element: <NewCrawlScreen /> },
    { path: "*", element: null },
  ]);

const seeds = () => screen.findByLabelText<HTMLTextAreaElement>("Seeds");
const delay = () => screen.getByLabelText<HTMLInputElement>("Delay between requests to a host");
const start = () => user.click(screen.getByRole("button", { name: "Start crawl" }));

beforeEach(() => {
  server
    .on("GET /api/v1/me", aCaller("write"))
    .on("GET /api/v1/settings", SETTINGS)
    .on(POST, () => Response.json({ id: 7 }, { status: 201 }));
});

describe("starting", () => {
  it("sends the seeds and what differs, and goes to the crawl", async () => {
    const { where } = show();
    await fill(await seeds(), "example.com, example.org");
    await fill(delay(), "2s");
    await fill(screen.getByLabelText("Include"), "*/docs/*\n*/news/*");
    await start();
    await waitFor(() => expect(where()).toBe("/crawls/7"));
    const [sent] = server.to(POST);
    expect(sent?.body).toEqual({
      seeds: ["example.com", "example.org"],
      profile: "default",
      settings: { "polite.floor_ms": 2000, "polite.adaptive": false, "scope.include": ["*/docs/*", "*/news/*"] },
      name: "",
      labels: [],
    });
    expect(sent?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f]{32}$/);
  });

  it("sends name and labels, and shows what is wrong with them at their fields", async () => {
    const { where } = show("/crawls/new?seed=a.example&name=Docs%2C+weekly&label=team%3Ddocs&label=nightly");
    await seeds();
    expect((screen.getByLabelText("Labels") as HTMLInputElement).value).toBe("team=docs nightly");
    server.on(POST, refusal(422, "labels: 'x=' is no label", "labels"));
    await fill(screen.getByLabelText("Labels"), "x=, nightly");
    await start();
    expect((await screen.findByRole("alert")).textContent).toContain("is no label");
    expect(document.activeElement).toBe(screen.getByLabelText("Labels"));
    expect(server.to(POST).at(-1)?.body).toMatchObject({ name: "Docs, weekly", labels: ["x=", "nightly"] });
    expect(where()).toContain("name=Docs%2C+weekly");
  });

  it("takes seeds of a file, behind what was typed, and refuses what is none", async () => {
    show();
    await fill(await seeds(), "a.example");
    const input = screen.getByLabelText("Seeds of a file");
    await user.upload(input, new File(["\uFEFF# some\nb.example\r\nc.example\n"], "seeds.txt", { type: "text/plain" }));
    await waitFor(async () => expect((await seeds()).value).toBe("a.example\n# some\nb.example\nc.example"));
    expect(screen.getByText("3 seeds")).toBeTruthy();
    await user.upload(input, new File(["\0\0"], "picture.txt", { type: "text/plain" }));
    expect((await screen.findByRole("alert")).textContent).toBe("picture.txt is no text");
    await user.upload(input, new File(["x".repeat(10_000_001)], "large.txt", { type: "text/plain" }));
    await waitFor(() => expect(screen.getByRole("alert").textContent).toContain("has more than 10 MB"));
    expect(screen.getByText("3 seeds")).toBeTruthy();
  });

  it("shows the delay that really holds, and means by it what --delay means", async () => {
    const parts = [{ name: "crawl_delay", ms: 5000 }];
    server.on("POST /api/v1/delays", {
      hosts: [{ host: "a.example", delay_ms: 5000, parts, asked: true }],
      restrained: false,
    });
    const { where } = show("/crawls/new?seed=a.example&set.polite.floor_ms=2000");
    expect(await screen.findByText(/5 s \(its robots\.txt asks for it\)/)).toBeTruthy();
    expect(server.to("POST /api/v1/delays").at(-1)?.body).toEqual({
      seeds: ["a.example"],
      profile: "default",
      settings: { "polite.floor_ms": 2000, "polite.adaptive": false },
    });
    await user.click(screen.getAllByRole("button", { name: "Reset polite.adaptive to yes" })[0] as HTMLElement);
    await waitFor(() => expect(where()).toContain("set.polite.adaptive=true"));
    await start();
    await waitFor(() => expect(server.to(POST)).toHaveLength(1));
    expect(server.to(POST)[0]?.body).toEqual({
      seeds: ["a.example"],
      profile: "default",
      settings: { "polite.floor_ms": 2000 },
      name: "",
      labels: [],
    });
  });

  it("asks for seeds before it asks the server", async () => {
    show("/crawls/new?profile=broad");
    await seeds();
    await waitFor(() => expect(screen.getByRole("button", { name: "Start crawl" })).toHaveProperty("disabled", false));
    await start();
    expect((await screen.findByRole("alert")).textContent).toBe("give at least one URL or domain");
    expect(document.activeElement).toBe(await seeds());
    expect(server.to(POST)).toHaveLength(0);
  });

  it("sends the same body again with the same key", async () => {
    server.on(POST, refusal(503, "try later"));
    show("/crawls/new?seed=a.example");
    await seeds();
    await start();
    await screen.findByText(/try later/);
    await start();
    await waitFor(() => expect(server.to(POST)).toHaveLength(2));
    await user.type(await seeds(), " b.example");
    await start();
    await waitFor(() => expect(server.to(POST)).toHaveLength(3));
    const [first, second, third] = server.to(POST).map(({ headers }) => headers.get("Idempotency-Key"));
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it("keeps the last change in the address that Back leads to", async () => {
    let answer: (response: Response) => void = () => undefined;
    server.on(
      POST,
      () =>
        new Promise<Response>((resolve) => {
          answer = resolve;
        }),
    );
    const { where } = show();
    await fill(await seeds(), "a.example");
    await start();
    await waitFor(() => expect(where()).toBe("/crawls/new?seed=a.example"));
    await fill(await seeds(), "b.example");
    answer(Response.json({ id: 7 }, { status: 201 }));
    await waitFor(() => expect(where()).toBe("/crawls/7"));
  });

  it("is not offered to those who may only look", async () => {
    server.on("GET /api/v1/me", aCaller("read"));
    show();
    expect(await screen.findByText(/may only look/)).toBeTruthy();
    expect(await screen.findByRole("button", { name: "Start crawl" })).toHaveProperty("disabled", true);
  });
});

describe("settings", () => {
  it("show what the profile gives, and only differences are marked", async () => {
    show("/crawls/new?seed=a.example");
    await seeds();
    expect(delay().value).toBe("1000");
    await user.selectOptions(screen.getByLabelText("Profile"), "broad");
    expect(delay().value).toBe("250");
    expect(screen.getByText(/Against the defaults it changes Scope: mode any; Politeness: floor 250 ms/)).toBeTruthy();
    expect(screen.queryByText("changed")).toBeNull();
    await user.selectOptions(screen.getByLabelText("Scope"), "same_host");
    expect(screen.getByText("changed")).toBeTruthy();
    await user.click(screen.getAllByRole("button", { name: "Reset scope.mode to any" })[0] as HTMLElement);
    expect(screen.queryByText("changed")).toBeNull();
  });

  it("say when a text is no number, once it is left", async () => {
    show("/crawls/new?seed=a.example");
    await seeds();
    await fill(delay(), "soon");
    expect(screen.queryByRole("alert")).toBeNull();
    await user.tab();
    expect(screen.getByRole("alert").textContent).toBe("write a time, like 500, 2s or 1 min");
    await start();
    expect(server.to(POST)).toHaveLength(0);
    expect(document.activeElement).toBe(delay());
  });

  it("that need admin are disabled, with the reason", async () => {
    show("/crawls/new?advanced=1&find=private");
    const control = await screen.findByLabelText("Private addresses");
    expect(control).toHaveProperty("disabled", true);
    expect(screen.getByText(/Only a token with access admin may set it/)).toBeTruthy();
  });

  it("that need admin are common ones for an admin", async () => {
    server.on("GET /api/v1/me", aCaller("admin"));
    show();
    expect(await screen.findByLabelText("Private addresses")).toHaveProperty("disabled", false);
  });

  it("are filtered by name and help", async () => {
    show();
    await user.click(await screen.findByText("Advanced"));
    expect(screen.queryByLabelText("polite.jitter_ms")).toBeNull();
    await user.type(screen.getByLabelText("Filter the advanced settings"), "jitter{enter}");
    expect(screen.getByLabelText("polite.jitter_ms")).toBeTruthy();
    expect(screen.queryByText("Requests")).toBeNull();
    expect(server.to(POST)).toHaveLength(0);
  });

  it("have headers as lines", async () => {
    show("/crawls/new?seed=a.example&advanced=1&find=headers");
    await fill(await screen.findByLabelText("fetch.headers"), "X-One: 1\nX-Two: a:b");
    await start();
    await waitFor(() => expect(server.to(POST)).toHaveLength(1));
    expect(server.to(POST)[0]?.body).toMatchObject({
      settings: {
        "fetch.headers": [
          ["X-One", "1"],
          ["X-Two", "a:b"],
        ],
      },
    });
  });
});

describe("what the server says", () => {
  it("stands at its field, which is opened and focused", async () => {
    server.on(POST, refusal(422, "jitter is too much", "settings.polite.jitter_ms"));
    show("/crawls/new?seed=a.example");
    await seeds();
    await start();
    const control = await screen.findByLabelText("polite.jitter_ms");
    expect((await screen.findByRole("alert")).textContent).toBe("jitter is too much");
    expect(document.activeElement).toBe(control);
    expect(control.getAttribute("aria-invalid")).toBe("true");
    await user.type(control, "1");
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("stands at the seeds", async () => {
    server.on(POST, refusal(422, "'nothing' is no web address", "seeds"));
    show("/crawls/new?seed=nothing");
    await seeds();
    await start();
    expect((await screen.findByRole("alert")).textContent).toBe("'nothing' is no web address");
    expect(document.activeElement).toBe(await seeds());
  });

  it("stands on top where no field is meant", async () => {
    server.on(POST, refusal(429, "you have 10 unfinished crawls"));
    show("/crawls/new?seed=a.example");
    await seeds();
    await start();
    expect((await screen.findByRole("alert")).textContent).toContain("you have 10 unfinished crawls");
    expect(screen.getByText("do it otherwise")).toBeTruthy();
  });
});

describe("the address", () => {
  it("fills the form", async () => {
    show("/crawls/new?seed=a.example&seed=b.example&profile=broad&set.polite.floor_ms=2000&set.no.such=1");
    expect((await seeds()).value).toBe("a.example\nb.example");
    expect(screen.getByLabelText<HTMLSelectElement>("Profile").value).toBe("broad");
    expect(delay().value).toBe("2000");
    expect(screen.getByText(/does not know.*no\.such/)).toBeTruthy();
  });

  it("keeps what is filled in, and nothing else", async () => {
    const { where } = show();
    await user.type(await seeds(), "a.example");
    await user.type(delay(), "0");
    await waitFor(() => expect(where()).toBe("/crawls/new?seed=a.example&set.polite.floor_ms=10000"));
    await user.click(screen.getAllByRole("button", { name: "Reset polite.floor_ms to 1 s" })[0] as HTMLElement);
    await waitFor(() => expect(where()).toBe("/crawls/new?seed=a.example"));
  });
});

it("has nothing that axe finds", async () => {
  show("/crawls/new?seed=a.example&set.polite.jitter_ms=soon&advanced=1");
  await screen.findByLabelText("polite.jitter_ms");
  expect(await faults()).toEqual([]);
});

it("says what failed when there are no settings", async () => {
  server.on("GET /api/v1/settings", refusal(500, "something went wrong here"));
  show();
  expect(await screen.findByText(/something went wrong here/)).toBeTruthy();
});
