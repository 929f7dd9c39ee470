import { describe, expect, it } from "vitest";
import { aDetail, aProgress, aWorker, NO_REQUISITES } from "../../testing/records";
import { fitting, openAndEnded, standingOf, stateOf } from "./standing";

describe("stateOf", () => {
  it.each([
    ["the record, before anything is heard", aDetail({ status: "completed" }), null, "completed"],
    ["the live word", aDetail({ status: "running" }), aProgress({ state: "ending" }), "ending"],
    ["a killed crawl is paused", aDetail({ status: "paused" }), aProgress({ state: "running" }), "paused"],
    [
      "a record that is a second old does not hide that it goes on",
      aDetail({ status: "paused" }),
      aProgress({ state: "running", workers: [aWorker(1)] }),
      "running",
    ],
  ])("%s", (_, detail, progress, state) => expect(stateOf(detail, progress)).toBe(state));
});

describe("standingOf", () => {
  it("from the live message, with the open states among the others", () => {
    const standing = standingOf(aDetail(), aProgress());
    expect(standing.ended).toBe(6);
    expect(standing.states).toEqual({ visited: 5, failed: 1, queued: 5, in_progress: 1 });
  });

  it("from the record, without what only the live message knows", () => {
    const standing = standingOf(aDetail(), null);
    expect(standing).toMatchObject({ ended: 4, queued: 6, rate: null, resting: null, waiting: "" });
  });
});

it("requisites by state have those that are open among them", () => {
  const requisites = { ...NO_REQUISITES, urls: 9, queued: 3, in_progress: 1, states: { visited: 5 } };
  expect(openAndEnded(requisites)).toEqual({ visited: 5, queued: 3, in_progress: 1 });
});

describe("fitting", () => {
  it.each([
    ["running", { pause: true, resume: false, cancel: true, tune: true }],
    ["paused", { pause: false, resume: true, cancel: true, tune: true }],
    ["ending", { pause: false, resume: false, cancel: false, tune: false }],
    ["completed", { pause: false, resume: false, cancel: false, tune: false }],
  ] as const)("%s", (state, actions) => expect(fitting(state)).toEqual(actions));
});
