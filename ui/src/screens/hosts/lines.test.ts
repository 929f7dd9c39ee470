import { expect, it } from "vitest";
import { linesOf } from "./lines";

it.each([
  ["a\nb", ["a", "b"]],
  ["a\r\nb\r\n", ["a", "b"]],
  ["a\rb\n\n", ["a", "b", ""]],
  ["", [""]],
])("%j", (text, lines) => expect(linesOf(text)).toEqual({ lines, left: 0 }));

it("shows a bounded number of lines and says how many are left", () => {
  const { lines, left } = linesOf("x\n".repeat(6000));
  expect(lines).toHaveLength(5000);
  expect(left).toBe(1000);
});
