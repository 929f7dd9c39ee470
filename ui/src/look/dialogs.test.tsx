import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import { useState } from "react";
import { describe, expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import { Confirm } from "./Confirm";
import { Dialog } from "./Dialog";

const opened = (onClose: () => void = () => undefined) =>
  render(
    <Dialog title="Keys" onClose={onClose}>
      words
    </Dialog>,
  );

const cancel = (dialog: HTMLElement) => {
  const event = new Event("cancel", { cancelable: true });
  fireEvent(dialog, event);
  return event;
};

describe("Dialog", () => {
  it("is a modal with the name of its title", () => {
    const shown = vi.spyOn(HTMLDialogElement.prototype, "showModal");
    opened();
    expect(screen.getByRole("dialog", { name: "Keys" }).textContent).toContain("words");
    expect(screen.getByRole("heading", { level: 2, name: "Keys" })).toBeTruthy();
    expect(shown).toHaveBeenCalledOnce();
  });

  it("leaves it to its owner what Esc does", () => {
    const onClose = vi.fn();
    opened(onClose);
    expect(cancel(screen.getByRole("dialog")).defaultPrevented).toBe(true);
    expect(onClose).toHaveBeenCalledOnce();
    expect(screen.getByRole<HTMLDialogElement>("dialog").open).toBe(true);
  });

  it("is closed with its view, so that the focus goes back", () => {
    const closed = vi.spyOn(HTMLDialogElement.prototype, "close");
    opened().unmount();
    expect(closed).toHaveBeenCalled();
  });
});

function Asking({ run }: { run: () => Promise<unknown> }) {
  const [open, setOpen] = useState(true);
  if (!open) return <p>done</p>;
  return (
    <Confirm title="Cancel crawl 7?" action="Cancel it" danger run={run} onClose={() => setOpen(false)}>
      <p>What is queued is not fetched.</p>
    </Confirm>
  );
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });

describe("Confirm", () => {
  it("names the thing, and does nothing unless it is told to", () => {
    const run = vi.fn(async () => undefined);
    render(<Asking run={run} />);
    expect(screen.getByRole("dialog", { name: "Cancel crawl 7?" })).toBeTruthy();
    fireEvent.click(button("Keep it as it is"));
    expect(screen.getByText("done")).toBeTruthy();
    expect(run).not.toHaveBeenCalled();
  });

  it("closes when it is done, and cannot be told twice", async () => {
    let finish: () => void = () => undefined;
    const run = vi.fn(() => new Promise<void>((resolve) => (finish = resolve)));
    render(<Asking run={run} />);
    fireEvent.click(button("Cancel it"));
    expect(button("Cancel it").disabled).toBe(true);
    expect(button("Cancel it").getAttribute("aria-busy")).toBe("true");
    fireEvent.click(button("Cancel it"));
    finish();
    await screen.findByText("done");
    expect(run).toHaveBeenCalledOnce();
  });

  it("says what failed, stays, and may be told again", async () => {
    const run = vi.fn(() => Promise.reject(new Problem(409, "conflict", "it is over already")));
    render(<Asking run={run} />);
    fireEvent.click(button("Cancel it"));
    expect((await screen.findByRole("alert")).textContent).toBe("it is over already");
    await waitFor(() => expect(button("Cancel it").disabled).toBe(false));
    fireEvent.click(button("Cancel it"));
    await waitFor(() => expect(run).toHaveBeenCalledTimes(2));
  });
});
