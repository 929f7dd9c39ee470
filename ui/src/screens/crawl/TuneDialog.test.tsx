import { screen, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { aDetail } from "../../testing/records";
import { refusal, server } from "../../testing/server";
import { show } from "../../testing/shown";
import { fill, user } from "../../testing/user";
import { TuneDialog } from "./TuneDialog";

const PACE = "PATCH /api/v1/crawls/7/pace";
const LIMITS = "PATCH /api/v1/crawls/7/limits";

const polite = { floor_ms: 1000, jitter_ms: 0, adaptive: true, max_inflight: 1 };
const limits = { max_pages: null, max_urls: 5000, max_urls_per_host: 1000, max_seconds: null, max_bytes: null };
const detail = aDetail({ settings: { polite, limits } });

const type = (label: string, text: string) => fill(screen.getByLabelText(label), text);

it("sends only what changed, each part where it belongs", async () => {
  server.on(PACE, detail);
  server.on(LIMITS, detail);
  const close = vi.fn();
  show(<TuneDialog id="7" detail={detail} onClose={close} />);
  expect((screen.getByLabelText("Delay") as HTMLInputElement).value).toBe("1 s");
  await type("Delay", "2.5 s");
  await type("URLs", "9,000");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(close).toHaveBeenCalled());
  expect(server.to(PACE).map(({ body }) => body)).toEqual([{ floor_ms: 2500 }]);
  expect(server.to(LIMITS).map(({ body }) => body)).toEqual([{ max_urls: 9000 }]);
});

it("what was refused stands at its field; what was taken is not sent again", async () => {
  const slower = { ...detail, settings: { polite: { ...polite, floor_ms: 2000 }, limits } };
  server.on(PACE, slower);
  server.on(LIMITS, refusal(422, "max_pages: too small", "max_pages"));
  const close = vi.fn();
  show(<TuneDialog id="7" detail={detail} onClose={close} />);
  await type("Delay", "2 s");
  await type("Pages", "0");
  await user.click(screen.getByRole("button", { name: "Save" }));
  expect((await screen.findByRole("alert")).textContent).toBe("Pages: too small");
  expect(screen.getByLabelText("Pages").getAttribute("aria-invalid")).toBe("true");

  server.on(LIMITS, detail);
  await type("Pages", "10");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(close).toHaveBeenCalled());
  expect(server.to(PACE)).toHaveLength(1);
  expect(server.to(LIMITS).at(-1)?.body).toEqual({ max_pages: 10 });
});

it("sends nothing while something cannot be read", async () => {
  show(<TuneDialog id="7" detail={detail} onClose={() => undefined} />);
  await type("Delay", "fast");
  await user.click(screen.getByRole("button", { name: "Save" }));
  expect((await screen.findByRole("alert")).textContent).toContain("type a time");
  expect(server.asked).toEqual([]);
});
