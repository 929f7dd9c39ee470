import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { faults } from "../../testing/axe";
import { aRule } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { show } from "../../testing/shown";
import { user } from "../../testing/user";
import { BlockDialog, BlockDomain, DelayDialog } from "./RuleDialogs";

const HOST = "docs.example.org:8080";
const PATH = `/api/v1/hosts/${HOST}`;

function rule(delay: number | null, blocked: number | null) {
  const known = aRule({ host: HOST, delay_ms: delay, blocked_in_ms: blocked, reason: "was asked" });
  server.on(`GET ${PATH}`, { host: HOST, clock: null, rule: known, robots: [] });
  server.on(`PUT ${PATH}`, known);
}

describe("BlockDialog", () => {
  it("names the host, and keeps the delay that is set", async () => {
    rule(5000, null);
    const close = vi.fn();
    show(<BlockDialog host={HOST} onClose={close} />);
    expect(screen.getByRole("heading", { name: `Block ${HOST}` })).toBeTruthy();
    await user.click(screen.getByRole("radio", { name: "1 day" }));
    await user.click(screen.getByRole("button", { name: "Block it" }));
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.to(`PUT ${PATH}`)[0]?.body).toEqual({
      delay_ms: 5000,
      blocked_in_ms: 86_400_000,
      reason: "was asked",
    });
  });

  it("sends nothing while the time cannot be read", async () => {
    rule(null, null);
    const close = vi.fn();
    show(<BlockDialog host={HOST} onClose={close} />);
    await user.click(screen.getByRole("radio", { name: "other" }));
    await user.type(screen.getByLabelText("Own time"), "a while");
    await user.click(screen.getByRole("button", { name: "Block it" }));
    expect((await screen.findByRole("alert")).textContent).toContain("type a time");
    expect(await faults()).toEqual([]);
    expect(server.to(`PUT ${PATH}`)).toEqual([]);
    expect(close).not.toHaveBeenCalled();
  });
});

describe("DelayDialog", () => {
  it("of a host without a rule says the delay alone", async () => {
    server.on(`PUT ${PATH}`, {});
    const close = vi.fn();
    show(<DelayDialog host={HOST} onClose={close} />);
    await user.type(screen.getByLabelText("Delay"), "2 s");
    await user.type(screen.getByLabelText("Reason"), "slow");
    await user.click(screen.getByRole("button", { name: "Set the delay" }));
    await waitFor(() => expect(close).toHaveBeenCalled());
    expect(server.to(`PUT ${PATH}`)[0]?.body).toEqual({ delay_ms: 2000, blocked_in_ms: null, reason: "slow" });
  });

  it("shows the server's word at its field and stays open", async () => {
    rule(null, 1000);
    server.on(`PUT ${PATH}`, refusal(422, "delay_ms: too long", "delay_ms"));
    const close = vi.fn();
    show(<DelayDialog host={HOST} onClose={close} />);
    const field = screen.getByLabelText("Delay");
    await user.type(field, "30 d");
    await user.click(screen.getByRole("button", { name: "Set the delay" }));
    expect((await screen.findByRole("alert")).textContent).toBe("Delay: too long");
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(close).not.toHaveBeenCalled();
  });
});

it("a domain is blocked everywhere by a block rule", async () => {
  server.on("POST /api/v1/blocks", { blocks: [] });
  const close = vi.fn();
  show(<BlockDomain host={HOST} onClose={close} />);
  await user.click(screen.getByRole("button", { name: "Block the domain" }));
  await waitFor(() => expect(close).toHaveBeenCalled());
  expect(server.to("POST /api/v1/blocks")[0]?.body).toEqual({ kind: "domain", values: [HOST], reason: "" });
});
