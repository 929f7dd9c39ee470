import { expect, it } from "vitest";
import { hostPath } from "./address";

it("a host is one segment of a path, whatever is in it", () => {
  expect(hostPath("[::1]:8080")).toBe("/hosts/%5B%3A%3A1%5D%3A8080");
  expect(hostPath("a/../b")).toBe("/hosts/a%2F..%2Fb");
});
