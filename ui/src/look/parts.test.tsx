import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import { AtLeast } from "./AtLeast";
import { Meter, StateBar, StateLegend } from "./Bars";
import { Copy } from "./Copy";
import { Moment } from "./Moment";
import { Notice, notice } from "./Notice";
import { Failure, Loading } from "./States";
import { partsOf } from "./UrlText";
import { CrawlWord, GoodWord, StateWord } from "./Word";

afterEach(() => {
  vi.useRealTimers();
});

describe("AtLeast", () => {
  it("says where counting stopped, to eyes and to readers of the screen", () => {
    const shown = (more: boolean) => render(<AtLeast number={2000} more={more} />).container;
    expect(shown(false).textContent).toBe("2,000");
    expect(shown(true).textContent).toBe("at least 2,000+");
  });
});

describe("Moment", () => {
  const at = "2026-03-01T10:00:00Z";

  it("is a time that can be read by programs, with the exact one on hover", () => {
    const { container } = render(<Moment at={at} />);
    const time = container.querySelector("time");
    expect(time?.dateTime).toBe(at);
    expect(time?.title).toMatch(/2026/);
  });

  it.each([null, undefined, ""])("is a dash for %j", (none) => {
    expect(render(<Moment at={none} />).container.textContent).toBe("–");
  });

  it("goes on by itself, and stops with its view", () => {
    vi.useFakeTimers({ now: Date.parse(at) + 5000 });
    const { container, unmount } = render(<Moment at={at} relative />);
    expect(container.textContent).toBe("5 s ago");
    act(() => vi.advanceTimersByTime(10_000));
    expect(container.textContent).toBe("15 s ago");
    unmount();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("Copy", () => {
  it("copies its text and says so for a moment", async () => {
    vi.useFakeTimers();
    const writeText = vi.fn(async () => undefined);
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    render(<Copy text="https://example.com/" />);
    const button = screen.getByRole("button", { name: "copy: https://example.com/" });
    await act(async () => fireEvent.click(button));
    expect(writeText).toHaveBeenCalledWith("https://example.com/");
    expect(button.textContent).toBe("copied");
    act(() => vi.runAllTimers());
    expect(button.textContent).toBe("copy");
    vi.unstubAllGlobals();
  });
});

describe("Notice", () => {
  it("is told to screen readers, for a few seconds, the last word only", () => {
    vi.useFakeTimers();
    render(<Notice />);
    const status = screen.getByRole("status");
    act(() => notice("one"));
    act(() => vi.advanceTimersByTime(3000));
    act(() => notice("two"));
    act(() => vi.advanceTimersByTime(3000));
    expect(status.textContent).toBe("two");
    act(() => vi.advanceTimersByTime(1000));
    expect(status.textContent).toBe("");
  });
});

describe("bars", () => {
  it("have their numbers as words", () => {
    render(<StateBar counts={{ visited: 3, not_found: 1 }} />);
    expect(screen.getByRole("img").getAttribute("aria-label")).toBe(
      "URLs by state: visited 3 (75 %), not found 1 (25 %)",
    );
  });

  it("show nothing of nothing", () => {
    render(<StateBar counts={{}} />);
    const bar = screen.getByRole("img", { name: "URLs by state: nothing yet" });
    expect(bar.childElementCount).toBe(0);
  });

  it("never go over their end", () => {
    const { container } = render(<Meter part={5} all={2} label="5 of 2" />);
    expect(container.querySelector<HTMLElement>("[role=img] > div")?.style.width).toBe("100%");
  });

  it("have a legend of what is there", () => {
    render(<StateLegend counts={{ visited: 3, queued: 0 }} />);
    expect(screen.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual(["visited3100 %"]);
  });
});

describe("states as words", () => {
  it("have the word beside the colour", () => {
    const { container } = render(
      <>
        <StateWord state="in_progress" />
        <CrawlWord state="paused" />
        <GoodWord good={false} yes="well" no="not well" />
      </>,
    );
    expect(container.textContent).toBe("in progresspausednot well");
  });
});

describe("Failure and Loading", () => {
  it("says what failed, what to do, and tries again", () => {
    const retry = vi.fn();
    render(
      <Failure what="The list" error={new Problem(503, "unavailable", "the store is away", "wait")} retry={retry} />,
    );
    expect(screen.getByRole("alert").textContent).toContain("The list: the store is away");
    expect(screen.getByRole("alert").textContent).toContain("wait");
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(retry).toHaveBeenCalledOnce();
  });

  it("says what is loading to those who do not see it", () => {
    render(<Loading what="workers" />);
    expect(screen.getByRole("status").textContent).toBe("loading workers");
  });
});

describe("partsOf", () => {
  it.each([
    ["https://example.com/a?b#c", ["https://", "example.com", "/a?b#c", ""]],
    ["HTTP://EXAMPLE.com", ["HTTP://", "EXAMPLE.com", "", ""]],
    ["example.com/a", ["", "example.com", "/a", ""]],
    ["//example.com/a", ["", "", "//example.com/a", ""]],
    ["javascript:alert(1)", ["", "javascript:alert(1)", "", ""]],
    ["https://a@b:1/c", ["https://", "a@b:1", "/c", ""]],
    ["https://example.com?q=/", ["https://", "example.com", "?q=/", ""]],
    ["http://a\nb/c\nd", ["http://", "a\nb", "/c\nd", ""]],
    ["", ["", "", "", ""]],
  ])("cuts %j", (url, parts) => expect(Object.values(partsOf(url))).toEqual(parts));

  it("dims what goes on after 80 characters", () => {
    const { near, far } = partsOf(`https://example.com/${"a".repeat(100)}`);
    expect("https://example.com".length + near.length).toBe(80);
    expect(far).toBe("a".repeat(40));
  });

  it("dims all of the path of a host that is longer", () => {
    expect(partsOf(`https://${"a".repeat(90)}/b`)).toMatchObject({ near: "", far: "/b" });
  });
});
