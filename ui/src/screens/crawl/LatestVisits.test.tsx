import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { queries } from "../../api/client";
import { aRow } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { show } from "../../testing/shown";
import { user } from "../../testing/user";
import { LatestVisits } from "./LatestVisits";

const URLS = "GET /api/v1/crawls/7/urls";
const latest = <LatestVisits crawl="7" over={false} />;

const shown = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((line) => within(line).getByTitle(/^https/).textContent);
const again = () => act(() => queries.refetchQueries());

it("new rows wait while somebody looks, and come in on a click", async () => {
  server.on(URLS, { urls: [aRow(1)], next: null });
  show(latest);
  const table = await screen.findByRole("table");
  fireEvent.pointerEnter(table);

  server.on(URLS, { urls: [aRow(3), aRow(2), aRow(1)], next: null });
  await again();
  expect(shown()).toEqual(["https://example.com/1"]);
  fireEvent.click(await screen.findByRole("button", { name: "2 new" }));
  expect(shown()).toEqual(["https://example.com/3", "https://example.com/2", "https://example.com/1"]);
  expect(screen.queryByRole("button")).toBeNull();
});

it("they come in by themselves when nobody looks", async () => {
  server.on(URLS, { urls: [aRow(1)], next: null });
  show(latest);
  await screen.findByRole("table");
  server.on(URLS, { urls: [aRow(2), aRow(1)], next: null });
  await again();
  await waitFor(() => expect(shown()).toEqual(["https://example.com/2", "https://example.com/1"]));
});

it("a crawl too large to sort is listed by number", async () => {
  server.on(URLS, ({ query }) =>
    query.get("sort") ? refusal(422, "too many URLs to sort") : { urls: [aRow(9)], next: null },
  );
  show(latest);
  await screen.findByRole("table");
  expect(server.asked.at(-1)?.query.toString()).toBe("state=visited&order=desc&limit=15");
});

it("a row opens the inspector, by click and by Enter; crawled text stays text", async () => {
  server.on(URLS, { urls: [aRow(5, { url: "https://example.com/<img src=x onerror=alert(1)>" })], next: null });
  const { search } = show(latest);
  const line = (await screen.findAllByRole("row"))[1] as HTMLElement;
  await user.click(line);
  expect(search()).toBe("?inspect=5");
  expect(line.getAttribute("aria-current")).toBe("true");
  expect(document.querySelector("img")).toBeNull();
});
