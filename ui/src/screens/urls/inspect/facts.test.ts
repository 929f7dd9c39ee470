import { expect, it } from "vitest";
import { listFact, numberFact, otherFacts, textFact } from "./facts";

it("lists what has no place of its own", () => {
  const facts = {
    ip: "192.0.2.1",
    timing: { total_ms: 1 },
    description: "A page",
    noindex: true,
    refresh: null,
    next: "",
    links_out: ["x"],
    some_new_thing: { a: 1 },
    canonical: "x".repeat(3000),
  };
  const found = otherFacts(facts);
  expect(found.map(([name]) => name)).toEqual(["description", "noindex", "some new thing", "canonical"]);
  expect(found[1]?.[1]).toBe("yes");
  expect(found[2]?.[1]).toBe('{"a":1}');
  expect(found[3]?.[1].length).toBe(2002);
});

it("takes nothing for what it is not", () => {
  const facts = { ip: 7, wire_bytes: "7", links_refused: ["a", 1, null] };
  expect([textFact(facts, "ip"), numberFact(facts, "wire_bytes"), listFact(facts, "links_refused")]).toEqual([
    "",
    null,
    ["a"],
  ]);
  expect(listFact({ links_refused: "a" }, "links_refused")).toEqual([]);
});
