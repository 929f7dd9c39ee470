import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { faults } from "../../testing/axe";
import { NAUGHTY_FEW, ran } from "../../testing/naughty";
import { aCrawl, anAnswer, aResult } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { showAt } from "../../testing/shown";
import { fill, user } from "../../testing/user";
import { SearchScreen } from "./SearchScreen";

const SEARCH = "GET /api/v1/search";
const ANSWER = anAnswer([aResult(1), aResult(2, { crawl_id: 8, host: "[::1]:8080" })]);

const show = (at: string) =>
  showAt(at, [
    { path: "/search", element: <SearchScreen /> },
    { path: "*", element: null },
  ]);
const field = () => screen.getByRole("searchbox", { name: "Words to search for" });
const queries = () => server.to(SEARCH).map(({ query }) => query.toString());
const items = () => within(screen.getByRole("list", { name: "Results" })).getAllByRole("listitem");

beforeEach(() => {
  const other = aCrawl({ id: 8, crawl_id: "00000000-0000-0000-0000-0000000000aa", root_url: "https://b.example/" });
  server.on("GET /api/v1/crawls", { crawls: [other, aCrawl()], next: null }).on(SEARCH, ANSWER);
});

describe("before a query", () => {
  it("says what can be typed, with the focus in the field, and asks nothing", async () => {
    show("/search");
    expect(document.activeElement).toBe(field());
    for (const part of ["golden silk", '"golden silk"', "silk -worm", "spid*"]) {
      expect(screen.getByText(part, { selector: "code" })).toBeTruthy();
    }
    expect(screen.queryByRole("link", { name: "JSON" })).toBeNull();
    expect(await faults()).toEqual([]);
    expect(queries()).toEqual([]);
  });

  it("comes back, with the focus in the field, when the question goes", async () => {
    const { router } = show("/search?q=golden");
    await screen.findByText("2 pages");
    act(() => screen.getByRole("combobox").focus());
    await act(() => router.navigate("/search"));
    expect(screen.getByText("spid*")).toBeTruthy();
    expect(document.activeElement).toBe(field());
  });
});

describe("results", () => {
  it("have title, URL, snippet, host, crawl and time", async () => {
    show("/search?q=golden");
    await screen.findByText("2 pages");
    const [first, second] = items() as [HTMLElement, HTMLElement];
    const href = (name: string, item = first) => within(item).getByRole("link", { name }).getAttribute("href");
    expect(href("Page 1")).toBe("/crawls/7/urls?inspect=1");
    expect(href("crawl 7")).toBe("/crawls/7");
    expect(href("[::1]:8080", second)).toBe("/hosts/%5B%3A%3A1%5D%3A8080");
    const original = within(first).getByTitle("https://example.com/1").closest("a") as HTMLElement;
    expect(original.getAttribute("href")).toBe("https://example.com/1");
    expect(original.getAttribute("rel")).toBe("noreferrer noopener");
    expect(within(first).getByText("golden").tagName).toBe("MARK");
    expect(first.textContent).toContain("the golden silk");
    expect(first.querySelector("time")?.dateTime).toBe("2026-03-01T10:00:00Z");
    await waitFor(() => expect(within(first).getByText("crawl 7").title).toBe("https://example.com/"));
    expect(screen.getByRole("link", { name: "JSON" }).getAttribute("href")).toBe("/api/v1/search?q=golden&limit=20");
    expect(await faults()).toEqual([]);
  });

  it("are text, whatever was crawled", async () => {
    const naughty = NAUGHTY_FEW.map((text, at) =>
      aResult(at + 1, {
        title: text,
        url: text,
        host: text,
        snippet: [
          { text, match: true },
          { text, match: false },
        ],
      }),
    );
    server.on(SEARCH, anAnswer(naughty));
    const { container } = show("/search?q=golden");
    await screen.findByText(`${NAUGHTY_FEW.length} pages`);
    NAUGHTY_FEW.forEach((text, at) => {
      expect(items()[at]?.textContent.split(text).length).toBe(6); // title, URL, host, two parts
      expect(items()[at]?.querySelector("mark")?.textContent).toBe(text);
      expect(items()[at]?.querySelector("a[target]")).toBeNull(); // none of them is an address of the web
    });
    expect(container.querySelector("script, img, svg, iframe, ol b")).toBeNull();
    expect(ran()).toBe(false);
  });

  it("have pages, forth and back, that the address knows", async () => {
    server.on(SEARCH, ({ query }) => anAnswer([aResult(1 + Number(query.get("offset") ?? 0))], { total: 60 }));
    const { search, router } = show("/search?q=golden");
    await screen.findByText("1 to 1 of 60 pages");
    await user.click(screen.getByRole("link", { name: "Next" }));
    await screen.findByText("21 to 21 of 60 pages");
    expect(search()).toBe("?q=golden&offset=20");
    expect(document.activeElement?.textContent).toBe("Results");
    await user.click(screen.getByRole("link", { name: "Next" }));
    await screen.findByText("41 to 41 of 60 pages");
    expect(screen.queryByRole("link", { name: "Next" })).toBeNull();
    await act(() => router.navigate(-1));
    await screen.findByRole("link", { name: "Page 21" });
    await user.click(screen.getByRole("link", { name: "Previous" }));
    await screen.findByRole("link", { name: "Page 1" });
    expect(search()).toBe("?q=golden");
  });

  it("that are too many say so", async () => {
    server.on(SEARCH, anAnswer([aResult(1)], { total: 10_000, total_exact: false }));
    show("/search?q=golden&offset=1000");
    await screen.findByText("1,001 to 1,001 of more than 10,000 pages");
    expect(screen.getByText(/^Only the best 1,020 can be looked through/)).toBeTruthy();
  });

  it("stay while the next ones are looked for", async () => {
    let answer = (_: Response) => {};
    server.on(SEARCH, ({ query }) =>
      query.get("q") === "golden" ? ANSWER : new Promise<Response>((resolve) => (answer = resolve)),
    );
    show("/search?q=golden");
    await screen.findByText("2 pages");
    await user.type(field(), "e");
    await screen.findByText("searching");
    expect(items()).toHaveLength(2);
    expect(screen.getByRole("list", { name: "Results" }).getAttribute("aria-busy")).toBe("true");
    await waitFor(() => expect(server.to(SEARCH)).toHaveLength(2)); // it is shown before it is asked for
    answer(Response.json(anAnswer([aResult(3)])));
    await screen.findByText("1 page");
    expect(screen.getByRole("link", { name: "Page 3" })).toBeTruthy();
  });
});

describe("the address", () => {
  it("is what is asked for, and what the fields show", async () => {
    show("/search?q=%22golden+silk%22&crawl=8&host=a.example&offset=20");
    await screen.findByRole("list", { name: "Results" });
    expect(queries()).toEqual(["q=%22golden+silk%22&crawl=8&host=a.example&limit=20&offset=20"]);
    expect(screen.getByDisplayValue('"golden silk"')).toBe(field());
    expect(screen.getByDisplayValue("a.example")).toBeTruthy();
    expect(await screen.findByDisplayValue("8: https://b.example/")).toBeTruthy();
  });

  it("has what is typed when the typing pauses, in one entry of the history", async () => {
    const { where, router } = show("/crawls");
    await act(() => router.navigate("/search"));
    await user.type(field(), "gold ");
    await waitFor(() => expect(where()).toBe("/search?q=gold"));
    await user.type(field(), "silk");
    await waitFor(() => expect(where()).toBe("/search?q=gold+silk"));
    await waitFor(() => expect(queries()).toEqual(["q=gold&limit=20", "q=gold+silk&limit=20"]));
    await act(() => router.navigate(-1));
    expect(where()).toBe("/crawls");
  });

  it("has it at once with Enter, and Back leads to a question that was meant", async () => {
    const { where, router } = show("/search");
    await user.type(field(), "gold{Enter}");
    expect(where()).toBe("/search?q=gold");
    await fill(field(), "silk");
    await waitFor(() => expect(where()).toBe("/search?q=silk"));
    await user.type(field(), "worm");
    await waitFor(() => expect(where()).toBe("/search?q=silkworm"));
    await act(() => router.navigate(-1));
    expect(where()).toBe("/search?q=gold");
    await waitFor(() => expect(screen.getByDisplayValue("gold")).toBe(field()));
  });

  it("has crawl and host, from the first page on, until they are cleared", async () => {
    const { search } = show("/search?q=golden&offset=40");
    await screen.findByRole("option", { name: "7: https://example.com/" });
    await user.selectOptions(screen.getByRole("combobox", { name: "Crawl" }), "7");
    expect(search()).toBe("?q=golden&crawl=7");
    await user.type(screen.getByRole("searchbox", { name: "Host" }), "a.example{Enter}");
    expect(search()).toBe("?q=golden&crawl=7&host=a.example");
    await waitFor(() => expect(queries().at(-1)).toBe("q=golden&crawl=7&host=a.example&limit=20"));
    await user.click(screen.getByRole("button", { name: "Clear filters" }));
    expect(search()).toBe("?q=golden");
  });

  it("may name a crawl by its uuid, or one that is not among the newest", async () => {
    server.on("GET /api/v1/crawls", { crawls: [aCrawl()], next: 7 });
    const { unmount } = show(`/search?crawl=${aCrawl().crawl_id}`);
    expect(await screen.findByDisplayValue("7: https://example.com/")).toBeTruthy();
    expect(screen.getByRole<HTMLOptionElement>("option", { name: /^older ones/ }).disabled).toBe(true);
    unmount();
    show("/search?crawl=3");
    expect(screen.getByDisplayValue("crawl 3")).toBeTruthy();
  });

  it("asks again with Enter where nothing is new", async () => {
    show("/search?q=golden");
    await screen.findByText("2 pages");
    await user.type(field(), "{Enter}");
    await waitFor(() => expect(queries()).toHaveLength(2));
  });
});

describe("what is wrong", () => {
  it.each([
    ["q=-a", refusal(422, "the query only says what to leave out", "q"), "Words to search for"],
    ["q=a&host=/", refusal(422, "'/' is no host", "host"), "Host"],
    ["q=a&crawl=99", refusal(404, "there is no crawl 99"), "Crawl"],
  ])("in ?%s is said at its field", async (address, refused, label) => {
    server.on(SEARCH, refused);
    show(`/search?${address}`);
    const said = await screen.findByRole("alert");
    const wrong = screen.getByLabelText(label);
    expect(wrong.getAttribute("aria-invalid")).toBe("true");
    expect(wrong.getAttribute("aria-describedby")).toBe(said.id);
    expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
    expect(screen.queryByText("spid*") !== null).toBe(label === "Words to search for"); // what could be typed instead
    expect(await faults()).toEqual([]);
  });

  it("with the server is said, and can be tried again", async () => {
    server.on(SEARCH, refusal(500, "something went wrong here"));
    show("/search?q=golden");
    expect(await screen.findByText("The search failed: something went wrong here")).toBeTruthy();
    server.on(SEARCH, ANSWER);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("2 pages")).toBeTruthy();
  });
});

describe("nothing found", () => {
  it("says so, and what to do", async () => {
    server.on(SEARCH, ({ query }) => (query.has("host") ? anAnswer([]) : ANSWER));
    const { search } = show("/search?q=golden&host=a.example");
    expect(await screen.findByText("No page was found.")).toBeTruthy();
    expect(screen.queryByText(/not indexed yet/)).toBeNull();
    expect(await faults()).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Search every crawl and host" }));
    expect(search()).toBe("?q=golden");
    expect(await screen.findByText("2 pages")).toBeTruthy();
  });

  it("while pages wait to be indexed is looked for again by itself", async () => {
    let answer = anAnswer([], { pending_bytes: 3_400_000 });
    server.on(SEARCH, () => answer);
    show("/search?q=golden");
    expect(await screen.findByText(/^3\.4 MB of the archive are not indexed yet/)).toBeTruthy();
    answer = ANSWER;
    expect(await screen.findByText("2 pages")).toBeTruthy();
  });

  it("in an empty index is no fault of the words", async () => {
    server.on(SEARCH, anAnswer([], { indexed: 0 }));
    show("/search?q=golden");
    expect(await screen.findByText("No page is indexed yet.")).toBeTruthy();
  });

  it("behind the last result leads to the best", async () => {
    server.on(SEARCH, ({ query }) => (query.has("offset") ? anAnswer([], { total: 2 }) : ANSWER));
    const { search } = show("/search?q=golden&offset=100");
    await user.click(await screen.findByRole("link", { name: "The best ones" }));
    expect(search()).toBe("?q=golden");
    expect(await screen.findByText("2 pages")).toBeTruthy();
  });
});

it("says what is not indexed yet, and moves no result by itself", async () => {
  server.on(SEARCH, { ...ANSWER, pending_bytes: 12_000 });
  show("/search?q=golden");
  expect(await screen.findByText(/^12 KB of the archive are not indexed yet/)).toBeTruthy();
  server.on(SEARCH, anAnswer([aResult(3), aResult(1)]));
  await user.click(screen.getByRole("button", { name: "Search again" }));
  expect(await screen.findByRole("link", { name: "Page 3" })).toBeTruthy();
  expect(screen.queryByText(/not indexed yet/)).toBeNull();
  expect(queries()).toHaveLength(2);
});
