import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Page } from "../../api/types";
import { faults } from "../../testing/axe";
import { showUrls } from "../../testing/inspected";
import { NAUGHTY_FEW, ran } from "../../testing/naughty";
import { anExplanation, anInLink, aPage, aRow, inLinks } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { user } from "../../testing/user";

const CRAWL = "GET /api/v1/crawls/7";
const PAGE = aRow(5);
const FACTS = {
  ip: "192.0.2.9",
  protocol: "h2",
  wire_bytes: 700,
  timing: { dns_ms: 5, connect_ms: 10, tls_ms: 0, first_byte_ms: 20, total_ms: 40 },
  description: "About pages",
  links_refused: ["mailto:a@example.com"],
};

const archived = (fields: Partial<Page> = {}) =>
  aPage(PAGE, {
    headers: [
      ["Content-Type", "text/html"],
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2"],
    ],
    body: "<h1>One</h1>\n<p>two</p>\n<p>One more</p>",
    ...fields,
  });

const TABS = ["why", "answer", "links", "source"];
const link = (id: number, url = `https://example.com/l${id}`) => ({ id, url, state: "queued", status: null, depth: 2 });

beforeEach(() => {
  server.on(`${CRAWL}/urls/5`, { ...PAGE, facts: FACTS });
  server.on(`${CRAWL}/explain`, anExplanation(PAGE));
  server.on(`${CRAWL}/urls/5/page`, archived());
  server.on(`${CRAWL}/urls/5/page/ticket`, { path: "/api/v1/crawls/7/urls/5/page/rendered?ticket=t" });
});

describe("why", () => {
  it("has the sentence and what it rests on", async () => {
    showUrls("?inspect=5");
    await screen.findByText("It ended visited.");
    for (const text of ["passed", "refused", "not asked", "9, at most 5", "crawl delay", "decides", "12", "worker 2"]) {
      expect(screen.getAllByText(text, { exact: false }).length).toBeGreaterThan(0);
    }
    expect(screen.getByRole("link", { name: "JSON" }).getAttribute("href")).toContain("/explain?url=https%3A%2F%2F");
  });

  it("leads up to the seed", async () => {
    server.on(`${CRAWL}/urls/1`, { ...aRow(1, { url: "https://example.com/" }), facts: {} });
    const { search } = showUrls("?inspect=5");
    await user.click(await screen.findByTitle("https://example.com/"));
    expect(search()).toBe("?inspect=1");
  });
});

describe("answer", () => {
  it("has headers in their order, timing, and what the page says", async () => {
    showUrls("?inspect=5&tab=answer");
    await screen.findByText("a=1");
    for (const text of ["b=2", "192.0.2.9", "waiting for the answer", "About pages", "a-1.warc.gz"]) {
      expect(screen.getAllByText(text).length).toBeGreaterThan(0);
    }
  });

  it("says why nothing is archived, without asking", async () => {
    server.on(`${CRAWL}/urls/5`, {
      ...aRow(5, { archive_file: null, state: "excluded", reason: "robots" }),
      facts: {},
    });
    showUrls("?inspect=5&tab=answer");
    await screen.findByText("Nothing is archived of this URL.");
    expect(screen.getByText("It is excluded: robots.txt disallows it.")).toBeTruthy();
    expect(server.to(`${CRAWL}/urls/5/page`)).toEqual([]);
  });

  it("says that a file of the archive is elsewhere", async () => {
    server.on(`${CRAWL}/urls/5/page`, refusal(404, "a-1.warc.gz is not here", null, "not_archived"));
    showUrls("?inspect=5&tab=answer");
    await screen.findByText("a-1.warc.gz is not here");
  });
});

it("links lead on, more on demand, the refused ones are named", async () => {
  server.on(`${CRAWL}/urls/5/links`, ({ query }) =>
    query.has("after") ? { links: [link(9)], next: null } : { links: [link(8)], next: 8 },
  );
  const { search } = showUrls("?inspect=5&tab=links");
  await screen.findByText("mailto:a@example.com");
  await user.click(screen.getByRole("button", { name: "More links" }));
  await user.click(await screen.findByTitle("https://example.com/l9"));
  expect(search()).toBe("?inspect=9&tab=links");
});

describe("linked from", () => {
  const IN_LINKS = `${CRAWL}/urls/5/in-links`;
  beforeEach(() => {
    server.on(`${CRAWL}/urls/5/links`, { links: [], next: null });
  });

  it("has the pages with the words of their links, and is asked for only when it is shown", async () => {
    const pages = [
      anInLink(2, { rel: "nofollow" }),
      anInLink(3, { title: " ", text: "" }),
      anInLink(4, { rel: "redirect" }),
    ];
    server.on(IN_LINKS, inLinks(pages));
    const { search } = showUrls("?inspect=5");
    await screen.findByText("It ended visited.");
    expect(server.to(IN_LINKS)).toEqual([]);
    await user.click(screen.getByRole("link", { name: "Links" }));
    expect((await screen.findByRole("heading", { name: /^Linked from/ })).textContent).toBe("Linked from 3 pages");
    const [first, second, third] = within(screen.getByRole("list", { name: "Pages that link here" })).getAllByRole(
      "listitem",
    );
    expect(first?.textContent).toBe("Page 2https://example.com/2“words of 2”rel nofollow");
    expect(second?.textContent).toBe("https://example.com/3a link without words");
    expect(third?.textContent).toBe("Page 4https://example.com/4redirects here");
    expect(screen.queryByRole("button", { name: "More pages" })).toBeNull();
    await user.click(screen.getByRole("link", { name: "Page 2" }));
    expect(search()).toBe("?inspect=2&tab=links");
  });

  it("has more on demand", async () => {
    const page = (first: number, count: number) => Array.from({ length: count }, (_, at) => anInLink(first + at));
    server.on(IN_LINKS, ({ query }) =>
      inLinks(query.get("offset") === "0" ? page(10, 10) : page(20, 2), { total: 10_000, total_exact: false }),
    );
    showUrls("?inspect=5&tab=links");
    expect(await screen.findByText("more than 10,000 pages")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "More pages" }));
    expect(await screen.findByRole("link", { name: "Page 21" })).toBeTruthy();
    const asked = server.to(IN_LINKS).map(({ query }) => query.toString());
    expect(asked).toEqual(["limit=10&offset=0", "limit=50&offset=10"]);
  });

  it("says that there are none, and leads to how it was found", async () => {
    server.on(IN_LINKS, inLinks([]));
    const { search } = showUrls("?inspect=5&tab=links");
    await screen.findByText(/^No page of this crawl links here/);
    expect(screen.queryByText(/not indexed yet/)).toBeNull();
    await user.click(screen.getByRole("link", { name: "how it was found" }));
    expect(search()).toBe("?inspect=5");
  });

  it("says that the index lags, and asks again by itself", async () => {
    server.on(IN_LINKS, () =>
      server.to(IN_LINKS).length > 1 ? inLinks([anInLink(2)]) : inLinks([], { pending_bytes: 2000 }),
    );
    showUrls("?inspect=5&tab=links");
    await screen.findByText("No page that links here is indexed yet.");
    expect(screen.getByText(/2 KB of the archive are not indexed yet/)).toBeTruthy();
    await screen.findByRole("link", { name: "Page 2" });
    expect(screen.queryByText(/not indexed yet/)).toBeNull();
  });

  it("says what failed, beside what it links to", async () => {
    server.on(IN_LINKS, refusal(422, "the index is odd"));
    showUrls("?inspect=5&tab=links");
    await screen.findByText("The pages that link here could not be had: the index is odd");
    await screen.findByText("mailto:a@example.com");
    server.on(IN_LINKS, inLinks([anInLink(2)]));
    await user.click(screen.getByRole("button", { name: "Try again" }));
    await screen.findByRole("link", { name: "Page 2" });
  });
});

describe("source", () => {
  it("has numbered lines and finds text", async () => {
    const { search, container } = showUrls("?inspect=5&tab=source");
    await screen.findByText("<p>two</p>");
    await user.type(screen.getByRole("searchbox", { name: "Find in the source" }), "one");
    await screen.findByText("1 of 2 lines");
    expect([...container.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["One", "One"]);
    await user.click(screen.getByRole("button", { name: "Next" }));
    await screen.findByText("2 of 2 lines");
    expect(search()).toContain("find=one");
  });

  it("shows part of a long one, and goes on", async () => {
    const body = Array.from({ length: 1200 }, (_, at) => `line ${at + 1}.`).join("\n");
    server.on(`${CRAWL}/urls/5/page`, archived({ body, truncated: true }));
    showUrls("?inspect=5&tab=source");
    await screen.findByText("line 500.");
    expect(screen.queryByText("line 501.")).toBeNull();
    expect(screen.getByText(/Only the first 2 MB/)).toBeTruthy();
    await user.click(screen.getByText("More lines"));
    expect(screen.getByText("line 1000.")).toBeTruthy();
  });

  it("says that bytes are no text", async () => {
    server.on(`${CRAWL}/urls/5/page`, archived({ body: null, charset: null }));
    showUrls("?inspect=5&tab=source");
    await screen.findByText("It is no text.");
  });
});

describe("rendering", () => {
  it("is a frame that may do nothing", async () => {
    showUrls("?inspect=5&tab=rendering");
    const frame = await screen.findByTitle("The archived page");
    expect(frame.getAttribute("sandbox")).toBe("");
    expect(frame.getAttribute("referrerpolicy")).toBe("no-referrer");
    expect(frame.getAttribute("src")).toBe("/api/v1/crawls/7/urls/5/page/rendered?ticket=t");
  });

  it("is not for what is no HTML", async () => {
    server.on(`${CRAWL}/urls/5`, { ...aRow(5, { content_type: "application/pdf" }), facts: {} });
    showUrls("?inspect=5&tab=rendering");
    await screen.findByText("It is no HTML page.");
    expect(server.to(`${CRAWL}/urls/5/page/ticket`)).toEqual([]);
  });
});

it("says that there is no such URL", async () => {
  showUrls("?inspect=99");
  await screen.findByText("This crawl has no URL with the number 99.");
});

it("gives a link to the original only if it is a web address", async () => {
  server.on(`${CRAWL}/urls/5`, { ...aRow(5, { url: "javascript:window.ran=true" }), facts: {} });
  showUrls("?inspect=5");
  await screen.findByText("It ended visited.");
  expect(screen.queryByRole("link", { name: "open original" })).toBeNull();
});

describe("naughty texts", () => {
  const all = NAUGHTY_FEW.join(" ");
  const naughty = aRow(5, {
    url: `https://a.example/${all}`,
    title: all,
    reason: "constructor",
    error: all,
    raw_url: all,
  });
  const each = <T,>(made: (text: string) => T) => NAUGHTY_FEW.map(made);

  beforeEach(() => {
    server
      .on(`${CRAWL}/urls/5`, { ...naughty, facts: { description: all, truncated: all, links_refused: NAUGHTY_FEW } })
      .on(`${CRAWL}/urls/5/page`, archived({ headers: each((text) => [text, text]), body: NAUGHTY_FEW.join("\n") }))
      .on(
        `${CRAWL}/explain`,
        anExplanation(naughty, {
          verdict: all,
          refusals: each((text) => [text, 1]),
          delays: each((text) => [text, 1]),
        }),
      )
      .on(`${CRAWL}/urls/5/links`, { links: each((text) => link(6 + NAUGHTY_FEW.indexOf(text), text)), next: null })
      .on(
        `${CRAWL}/urls/5/in-links`,
        inLinks(each((text) => anInLink(60 + NAUGHTY_FEW.indexOf(text), { url: text, title: text, text, rel: text }))),
      );
  });

  it.each(TABS)("are text on the tab %s", async (tab) => {
    const { container } = showUrls(`?inspect=5&tab=${tab}`);
    await waitFor(() => expect(container.querySelector("section section, code")).not.toBeNull());
    await waitFor(() => expect(screen.queryByText(/^loading/)).toBeNull());
    const times = NAUGHTY_FEW.map((text) => container.textContent.split(text).length - 1);
    expect(Math.min(...times)).toBeGreaterThan(1); // once is the heading
    expect(container.querySelector("script, img, svg")).toBeNull();
    for (const found of container.querySelectorAll("a")) expect(found.href).toMatch(/^https?:/);
    expect(ran()).toBe(false);
  });
});

it.each(TABS)("passes axe on the tab %s", async (tab) => {
  server.on(`${CRAWL}/urls/5/links`, { links: [link(6)], next: null });
  server.on(`${CRAWL}/urls/5/in-links`, inLinks([anInLink(2, { rel: "nofollow" }), anInLink(3, { title: null })]));
  const { container } = showUrls(`?inspect=5&tab=${tab}`);
  await waitFor(() => expect(container.querySelector("section section, code")).not.toBeNull());
  expect(await faults(["heading-order"])).toEqual([]); // the frame has the h1
});
