import { fireEvent, render, renderHook, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { KeyHelp } from "./KeyHelp";
import { PLACES, useKeys } from "./keys";

function keys() {
  const go = vi.fn();
  const help = vi.fn();
  const { unmount } = renderHook(() => useKeys(go, help));
  return { go, help, unmount };
}

/** At a time of the page's life, in ms. */
function press(key: string, at = 100, more: KeyboardEventInit = {}, target: Element = document.body): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  Object.defineProperty(event, "timeStamp", { value: at });
  fireEvent(target, event);
  return event;
}

describe("useKeys", () => {
  it.each(Object.entries(PLACES))("g %s goes to its place", (key, { to }) => {
    const { go } = keys();
    press("g", 5000);
    press(key, 5800);
    expect(go).toHaveBeenCalledExactlyOnceWith(to);
  });

  it("needs the g, also on a page that has just been opened, and each time", () => {
    const { go } = keys();
    press("c", 100);
    press("g", 5000);
    press("c", 5100);
    press("h", 5200);
    expect(go).toHaveBeenCalledOnce();
  });

  it("forgets a g that was long ago", () => {
    const { go } = keys();
    press("g", 5000);
    press("c", 6500);
    expect(go).not.toHaveBeenCalled();
  });

  it("/ goes to the filter, where there is one", () => {
    keys();
    expect(press("/").defaultPrevented).toBe(false);
    render(<input data-filter aria-label="Filter" />);
    expect(press("/").defaultPrevented).toBe(true);
    expect(document.activeElement).toBe(screen.getByRole("textbox"));
  });

  it("? opens the list of keys", () => {
    const { help } = keys();
    press("?");
    expect(help).toHaveBeenCalledOnce();
  });

  it("is silent while somebody types, with other modifiers, and in a dialog", () => {
    const { help } = keys();
    render(
      <>
        <input aria-label="Name" />
        <textarea aria-label="Seeds" />
        <select aria-label="Kind" />
      </>,
    );
    for (const role of ["textbox", "combobox"]) for (const field of screen.getAllByRole(role)) press("?", 1, {}, field);
    press("?", 1, { ctrlKey: true });
    press("?", 1, { metaKey: true });
    press("?", 1, { altKey: true });
    render(<KeyHelp onClose={() => undefined} />);
    press("?");
    expect(help).not.toHaveBeenCalled();
  });

  it("ends with its view", () => {
    const { help, unmount } = keys();
    unmount();
    press("?");
    expect(help).not.toHaveBeenCalled();
  });
});

describe("KeyHelp", () => {
  it("lists every key", () => {
    render(<KeyHelp onClose={() => undefined} />);
    const text = screen.getByRole("dialog", { name: "Keys" }).textContent;
    for (const key of Object.keys(PLACES)) expect(text).toContain(`g ${key}`);
  });
});
