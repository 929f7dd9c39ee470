import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { Field } from "./Field";

function shown(help?: string, error?: string | null): HTMLElement {
  render(
    <Field label="Delay" help={help} error={error}>
      {(attributes) => <input {...attributes} />}
    </Field>,
  );
  return screen.getByRole("textbox", { name: "Delay" });
}

const described = (input: HTMLElement) =>
  (input.getAttribute("aria-describedby") ?? "")
    .split(" ")
    .map((id) => document.getElementById(id)?.textContent)
    .filter(Boolean);

describe("Field", () => {
  it("has the name of its label", () => {
    const input = shown();
    expect(input.hasAttribute("aria-describedby")).toBe(false);
    expect(input.hasAttribute("aria-invalid")).toBe(false);
  });

  it("is described by its help", () => {
    const input = shown("Like 2 s.");
    expect(described(input)).toEqual(["Like 2 s."]);
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("says what is wrong, and that it is", () => {
    const input = shown("Like 2 s.", "That is no time.");
    expect(described(input)).toEqual(["Like 2 s.", "That is no time."]);
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByRole("alert").textContent).toBe("That is no time.");
  });
});
