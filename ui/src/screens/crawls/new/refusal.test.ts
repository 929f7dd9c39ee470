import { describe, expect, it, test } from "vitest";
import { Problem } from "../../../api/problem";
import { aSetting } from "../../../testing/records";
import { fieldOf } from "./fields";
import { firstWrong, placeOf, refusalOf, settingAt } from "./refusal";

const NUMBER = aSetting("polite.floor_ms", 1000, { type: { type: "integer" } });
const HEADERS = aSetting("fetch.headers", [], { type: { type: "object" } });
const FIELDS = [fieldOf(NUMBER, 1000, undefined), fieldOf(HEADERS, [], undefined)];

test.each([
  ["seeds", "seeds"],
  ["seeds.3", "seeds"],
  ["profile", "profile"],
  ["settings.polite.floor_ms", "settings.polite.floor_ms"],
  ["settings.fetch.headers.0.1", "settings.fetch.headers"],
  ["settings.polite", null],
  ["settings.no.such", null],
  ["settings", null],
  ["url", null],
  [null, null],
])("the field %s is at %s", (field, place) => {
  const problem = new Problem(422, "invalid", "it is wrong", "", field);
  expect(refusalOf(problem, FIELDS)).toEqual({ place, message: "it is wrong", error: problem });
});

test.each([
  ["settings.polite.floor_ms cannot be -1: too small", "Delay between requests to a host cannot be -1: too small"],
  ["settings.fetch.headers: 'a b' is no name of one", "fetch.headers: 'a b' is no name of one"],
  ["settings.no.such is unknown", "settings.no.such is unknown"],
])("what the API says of its fields (%s) names their labels", (said, shown) => {
  expect(refusalOf(new Problem(422, "invalid", said), FIELDS).message).toBe(shown);
});

describe("before the server is asked", () => {
  it("there must be seeds", () => expect(firstWrong([], FIELDS)?.place).toBe("seeds"));
  it("all may be well", () => expect(firstWrong(["a.example"], FIELDS)).toBeNull());
  it("a number must be one", () => {
    const refusal = firstWrong(["a.example"], [fieldOf(NUMBER, 1000, "soon")]);
    expect(refusal?.place).toBe("settings.polite.floor_ms");
  });
});

test("places and settings", () => {
  expect(settingAt(placeOf("polite.floor_ms"))).toBe("polite.floor_ms");
  expect(settingAt("seeds")).toBeNull();
});
