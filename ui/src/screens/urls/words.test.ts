import { describe, expect, it } from "vitest";
import type { UrlRow } from "../../api/types";
import { aRow } from "../../testing/records";
import { reasonWords, whyLine } from "./reasons";
import { mayBeHtml, shortType, webAddress } from "./safe";
import { curlCommand, gathered, TooLarge } from "./save";

describe("reasons", () => {
  const row = aRow(1, { state: "failed" });
  it.each<[Partial<UrlRow>, string]>([
    [{}, ""],
    [{ reason: "dns" }, "DNS gave no answer"],
    [{ reason: "something_new" }, "something new"],
    [{ reason: "timeout", error: "after 30 s" }, "took too long; after 30 s"],
    [{ state: "queued", reason: "reset", not_before_in_ms: 3000 }, "the connection broke; again in 3 s"],
    [{ state: "in_progress", claimed_by: 3 }, "worker 3"],
    [{ state: "redirected", redirect_to: "https://b.example/" }, "to https://b.example/"],
  ])("%j is %s", (facts, text) => expect(whyLine({ ...row, ...facts })).toBe(text));

  it("never takes a property of all objects for a reason", () => {
    expect(reasonWords("constructor")).toBe("constructor");
  });
});

describe("crawled addresses", () => {
  it.each([
    ["https://a.example/", true],
    ["HTTP://a.example/", true],
    ["javascript:alert(1)//https://", false],
    [" https://a.example/", false],
    ["data:text/html,x", false],
    ["//a.example/", false],
  ])("%s is a link: %s", (url, link) => expect(webAddress(url)).toBe(link ? url : null));
});

describe("types", () => {
  it.each([
    ["text/html; charset=utf-8", true],
    ["Application/XHTML+XML", true],
    [null, true],
    ["nonsense", true],
    ["application/pdf", false],
  ])("%s may be HTML: %s", (type, html) => expect(mayBeHtml(type)).toBe(html));

  it("are short", () => expect([shortType("text/css ;x=y"), shortType(null)]).toEqual(["text/css", ""]));
});

describe("files", () => {
  const stream = (...sizes: number[]) =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        for (const size of sizes) controller.enqueue(new Uint8Array(size));
        controller.close();
      },
    });

  it("are gathered up to a size", async () => {
    expect((await gathered(stream(3, 4), 7)).size).toBe(7);
    await expect(gathered(stream(3, 5), 7)).rejects.toBeInstanceOf(TooLarge);
  });

  it("have a command that no text of a filter breaks out of", () => {
    const command = curlCommand("http://h", "/x?text='; rm -rf ~;'", "crawl-7.csv", true);
    expect(command.match(/'/g)?.length).toBe(2);
    expect(command).toContain('-H "Authorization: Bearer $NEPHILA_TOKEN"');
  });
});
