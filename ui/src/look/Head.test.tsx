import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { Head } from "./Head";

const columns = [
  { name: "Host" },
  { name: "Queued", number: true, width: "w-20", title: "URLs that wait" },
  { name: "Rate", number: true },
  { name: "Actions", hidden: true },
];

it("names the columns, the hidden ones to screen readers", () => {
  render(
    <table>
      <Head columns={columns} />
    </table>,
  );
  const heads = screen.getAllByRole("columnheader");
  expect(heads.map((head) => head.textContent)).toEqual(["Host", "Queued", "Rate", "Actions"]);
  expect(heads.map((head) => head.getAttribute("scope"))).toEqual(["col", "col", "col", "col"]);
  expect(heads.map((head) => head.getAttribute("class"))).toEqual([null, "w-20 text-right", "text-right", null]);
  expect(heads.map((head) => head.getAttribute("title"))).toEqual([null, "URLs that wait", null, null]);
  expect(heads.map((head) => head.querySelector(".sr-only") !== null)).toEqual([false, false, false, true]);
});

it("sorts by its buttons, and one that cannot says why", () => {
  const choose = vi.fn();
  const ordering = {
    towards: (sort: string) => (sort === "host" ? ("ascending" as const) : undefined),
    refuses: (sort: string) => (sort === "open" ? "too many" : ""),
    choose,
  };
  const sortable = [
    { name: "Host", sort: "host", title: "by name" },
    { name: "Open", sort: "open" },
    { name: "State", unsorted: "it is made of several facts" },
    { name: "Actions", hidden: true },
  ];
  render(
    <table>
      <Head columns={sortable} ordering={ordering} />
    </table>,
  );
  const [host, open, state, ...others] = screen.getAllByRole("button");
  expect(others).toEqual([]);
  expect(screen.getAllByRole("columnheader").map((head) => head.getAttribute("aria-sort"))).toEqual([
    "ascending",
    null,
    null,
    null,
  ]);
  for (const button of [host, open, state]) if (button) fireEvent.click(button);
  expect(choose.mock.calls).toEqual([["host"]]);
  expect([host, open, state].map((button) => button?.getAttribute("aria-disabled"))).toEqual([null, "true", "true"]);
  expect([host, open, state].map((button) => button?.title)).toEqual([
    "by name",
    "not sorted by this: too many",
    "not sorted by this: it is made of several facts",
  ]);
});
