import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
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
