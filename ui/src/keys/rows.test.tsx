import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { moveBetweenRows } from "./rows";

function table(): HTMLElement[] {
  render(
    <table>
      <tbody onKeyDown={moveBetweenRows}>
        <tr tabIndex={0}>
          <td>one</td>
        </tr>
        <tr>
          <td>details of one</td>
        </tr>
        <tr tabIndex={0}>
          <td>
            <button type="button">inside two</button>
          </td>
        </tr>
        <tr tabIndex={0}>
          <td>three</td>
        </tr>
      </tbody>
    </table>,
  );
  return screen.getAllByRole("row").filter((row) => row.tabIndex === 0);
}

/** true: the browser may do with the key as it likes. */
const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key });
const at = (rows: HTMLElement[]) => rows.indexOf(document.activeElement as HTMLElement);

describe("moveBetweenRows", () => {
  it.each([
    [0, "ArrowDown", 1],
    [1, "ArrowDown", 2],
    [2, "ArrowDown", 2],
    [1, "ArrowUp", 0],
    [0, "ArrowUp", 0],
    [2, "Home", 0],
    [0, "End", 2],
  ])("from row %s %s goes to %s", (from, key, to) => {
    const rows = table();
    rows[from]?.focus();
    expect(press(key)).toBe(false);
    expect(at(rows)).toBe(to);
  });

  it("leaves other keys, and keys inside of a row, alone", () => {
    const rows = table();
    rows[0]?.focus();
    for (const key of ["Enter", "Tab", "a", "PageDown"]) expect(press(key)).toBe(true);
    expect(at(rows)).toBe(0);
    screen.getByRole("button").focus();
    expect(press("ArrowDown")).toBe(true);
    expect(document.activeElement).toBe(screen.getByRole("button"));
  });
});
