import { expect, it } from "vitest";
import { tabOf, withTab } from "./tabs";

it.each([
  ["", "why"],
  ["tab=links", "links"],
  ["tab=nonsense", "why"],
])("%s is the tab %s", (address, tab) => expect(tabOf(new URLSearchParams(address))).toBe(tab));

it("leaves the first out of the address", () => {
  const search = new URLSearchParams("inspect=7&tab=links");
  expect(withTab(search, "source").toString()).toBe("inspect=7&tab=source");
  expect(withTab(search, "why").toString()).toBe("inspect=7");
});
