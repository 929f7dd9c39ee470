import { act, renderHook } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { installTheme, setTheme, theme, token, useTheme } from "./theme";

const system: { matches: boolean; changed: () => void } = { matches: false, changed: () => undefined };

beforeEach(() => {
  system.matches = false;
  vi.stubGlobal("matchMedia", () => ({
    matches: system.matches,
    addEventListener: (_: string, listener: () => void) => {
      system.changed = listener;
    },
  }));
});

const shown = () => document.documentElement.dataset.theme;

describe("theme", () => {
  it("is the system's until somebody chooses", () => {
    installTheme();
    expect(shown()).toBe("light");
    system.matches = true;
    system.changed();
    expect(shown()).toBe("dark");
    setTheme("light");
    system.changed();
    expect(shown()).toBe("light");
  });

  it("is kept over a reload", () => {
    setTheme("dark");
    delete document.documentElement.dataset.theme;
    installTheme();
    expect(shown()).toBe("dark");
  });

  it("takes no word that it does not know", () => {
    localStorage.setItem("nephila.theme", "<script>");
    expect(theme()).toBe("light");
  });

  it("is told to those who draw", () => {
    const { result } = renderHook(() => useTheme());
    expect(result.current).toBe("light");
    act(() => setTheme("dark"));
    expect(result.current).toBe("dark");
  });

  it("gives the value of a token", () => {
    document.documentElement.style.setProperty("--dim", " #123456 ");
    expect(token("dim")).toBe("#123456");
    expect(token("unknown")).toBe("");
  });
});
