import { describe, expect, it } from "vitest";
import { forgetSecret, keepSecret, secret } from "./secret";

describe("the secret", () => {
  it("is kept for this tab, or for this browser, never in both", () => {
    keepSecret("one", true);
    expect([secret(), localStorage.length, sessionStorage.length]).toEqual(["one", 1, 0]);
    keepSecret("two", false);
    expect([secret(), localStorage.length, sessionStorage.length]).toEqual(["two", 0, 1]);
  });

  it("can be forgotten", () => {
    keepSecret("one", true);
    forgetSecret();
    expect(secret()).toBeNull();
  });
});
