import { expect, test } from "vitest";
import { keyring, newKey } from "./key";

test("a key is made of random bytes", () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(newKey()).not.toBe(newKey());
});

test("the same body has the same key, another one another", () => {
  const keyFor = keyring();
  const first = keyFor({ seeds: ["a.example"] });
  expect(keyFor({ seeds: ["a.example"] })).toBe(first);
  expect(keyFor({ seeds: ["b.example"] })).not.toBe(first);
  expect(keyFor({ seeds: ["a.example"] })).not.toBe(first);
});
