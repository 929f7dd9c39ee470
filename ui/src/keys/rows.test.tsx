import { act, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { describe, expect, it, vi } from "vitest";
import { Grid } from "../look/Grid";
import { Head } from "../look/Head";
import { onEnter } from "./rows";

const ORDERING = { towards: () => undefined, refuses: () => "", choose: () => {} };
const COLUMNS = [
  { name: "Name", sort: "name" },
  { name: "Size", sort: "size" },
];

function Table({ names, onOpen = () => {} }: { names: readonly string[]; onOpen?: (name: string) => void }) {
  return (
    <Grid>
      <Head columns={COLUMNS} ordering={ORDERING} />
      <tbody>
        {names.map((name) => (
          <tr key={name} tabIndex={-1} data-testid={name} onKeyDown={onEnter(() => onOpen(name))}>
            <td>
              <a href={`#${name}`}>open {name}</a>
            </td>
            <td>
              <button type="button">button {name}</button>
              <button type="button" disabled>
                never
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

const NAMES = Array.from({ length: 25 }, (_, at) => `row${at}`);
/** true: the browser may do with the key as it likes. */
const press = (key: string, more = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
const focused = () => document.activeElement?.textContent ?? "";
const row = (name: string) => screen.getByTestId(name);
const stops = () => [...document.querySelectorAll("[tabindex='0']")];

describe("a table", () => {
  it("has one stop for Tab: its first row, or where one was last", () => {
    render(<Table names={NAMES} />);
    expect(stops()).toEqual([row("row0")]);
    act(() => row("row3").focus());
    expect(stops()).toEqual([row("row3")]);
    act(() => screen.getByText("button row4").focus());
    expect(stops()).toEqual([screen.getByText("button row4")]);
    expect(
      document.querySelectorAll("table a:not([tabindex='-1']), table button:not([tabindex='-1']):enabled"),
    ).toHaveLength(1);
  });

  it.each([
    ["row0", "ArrowDown", "row1"],
    ["row1", "ArrowUp", "row0"],
    ["row24", "ArrowDown", "row24"],
    ["row7", "Home", "row0"],
    ["row7", "End", "row24"],
    ["row2", "PageDown", "row12"],
    ["row20", "PageDown", "row24"],
    ["row20", "PageUp", "row10"],
    ["row3", "PageUp", "row0"],
    ["row3", "ArrowLeft", "row3"],
  ])("from %s %s leads to %s", (from, key, to) => {
    render(<Table names={NAMES} />);
    act(() => row(from).focus());
    expect(press(key)).toBe(false);
    expect(document.activeElement).toBe(row(to));
  });

  it("reaches links and buttons of a row sideways, and keeps the place from row to row", () => {
    render(<Table names={NAMES} />);
    act(() => row("row1").focus());
    press("ArrowRight");
    expect(focused()).toBe("open row1");
    press("ArrowRight");
    press("ArrowRight");
    expect(focused()).toBe("button row1");
    press("ArrowDown");
    expect(focused()).toBe("button row2");
    press("ArrowLeft");
    press("ArrowLeft");
    expect(document.activeElement).toBe(row("row2"));
  });

  it("reaches the head above the first row", () => {
    render(<Table names={NAMES} />);
    act(() => row("row0").focus());
    press("ArrowUp");
    expect(focused()).toBe("Name ");
    press("ArrowRight");
    expect(focused()).toBe("Size ");
    press("Home");
    expect(focused()).toBe("Name ");
    press("ArrowDown");
    expect(document.activeElement).toBe(row("row0"));
  });

  it("leaves other keys alone, and Enter to what has the focus", () => {
    const open = vi.fn();
    render(<Table names={NAMES} onOpen={open} />);
    act(() => row("row1").focus());
    for (const key of ["Tab", "a", "Escape"]) expect(press(key)).toBe(true);
    expect(press("ArrowDown", { altKey: true })).toBe(true);
    press("Enter");
    act(() => screen.getByText("open row1").focus());
    press("Enter");
    expect(open.mock.calls).toEqual([["row1"]]);
  });

  it("keeps its stop while rows come and go, and has another when its own is gone", async () => {
    let change: (names: string[]) => void = () => {};
    function Changing() {
      const [names, setNames] = useState(["row1", "row2"]);
      change = setNames;
      return <Table names={names} />;
    }
    render(<Changing />);
    act(() => row("row2").focus());
    await act(async () => change(["row0", "row1", "row2"]));
    expect(stops()).toEqual([row("row2")]);
    await act(async () => change(["row0", "row1"]));
    expect(stops()).toEqual([row("row0")]);
  });

  it("gives each cell the name of its column, for narrow windows", () => {
    render(<Table names={["row0"]} />);
    expect([...document.querySelectorAll("td")].map((cell) => cell.dataset.label)).toEqual(["Name", "Size"]);
  });
});
