import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { faults } from "../../testing/axe";
import { refusal, server } from "../../testing/server";
import { show } from "../../testing/shown";
import { fill, user } from "../../testing/user";
import { RobotsTrial } from "./RobotsTrial";
import type { Tried } from "./types";

const PATH = "POST /api/v1/robots/trial";
const TRIED: Tried = {
  agent: "Bot",
  group: "*",
  group_lines: [1, 7],
  crawl_delay_ms: 5000,
  parked: "",
  sitemaps: ["https://a.example/map.xml"],
  cut: false,
  urls: [
    { url: "https://a.example/x", allowed: false, rule: "Disallow: /x", line: 2, detail: "Disallow: /x (line 2)" },
    { url: "https://a.example/", allowed: true, rule: "", line: null, detail: "no rule matches" },
  ],
};

it("tries the text that is known, and names the line that decides", async () => {
  server.on(PATH, TRIED);
  show(<RobotsTrial origin="https://a.example" text="User-agent: *" />);
  await fill(screen.getByLabelText("URLs to try"), "https://a.example/x\nhttps://a.example/");
  await fill(screen.getByLabelText("Crawler"), "Bot");
  await user.click(screen.getByRole("button", { name: "Try it" }));
  expect(await screen.findByText("disallowed")).toBeTruthy();
  expect(screen.getByText("Disallow: /x (line 2)")).toBeTruthy();
  expect(screen.getByText("allowed")).toBeTruthy();
  expect(screen.getByText(/Group of Bot: \* \(line 1, 7\)\. Crawl-delay 5 s\./)).toBeTruthy();
  expect(screen.getByText(/map\.xml/)).toBeTruthy();
  expect(server.to(PATH)[0]?.body).toEqual({
    text: "User-agent: *",
    urls: ["https://a.example/x", "https://a.example/"],
    agent: "Bot",
  });
  expect(await faults()).toEqual([]);
});

it("says at its field what is wrong, and shows no answer beside it", async () => {
  server.on(PATH, refusal(422, "'123' names no crawler", "agent"));
  show(<RobotsTrial origin="https://a.example" text="" />);
  await user.click(screen.getByRole("button", { name: "Try it" }));
  expect((await screen.findByRole("alert")).textContent).toBe("'123' names no crawler");
  expect(screen.getByLabelText("Crawler").getAttribute("aria-invalid")).toBe("true");
  expect(server.to(PATH)[0]?.body).toEqual({ text: "", urls: ["https://a.example/"], agent: null });
});
