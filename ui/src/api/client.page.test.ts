import { renderHook } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { refusal, server } from "../testing/server";
import { client, queries } from "./client";
import { useConnection } from "./connection";
import { Problem } from "./problem";
import { keepSecret } from "./secret";

const ME = "/api/v1/me";
const ASKED = `GET ${ME}`;

const now = () => renderHook(() => useConnection()).result.current;
const failing = () =>
  client.GET(ME).then(
    () => expect.unreachable("it should fail"),
    (error: unknown) => error,
  );

describe("the client", () => {
  it("gives what the server answers", async () => {
    server.on(ASKED, { name: "ann", access: "read", token: true });
    expect((await client.GET(ME)).data).toEqual({ name: "ann", access: "read", token: true });
  });

  it("sends the token of this browser, and none where there is none", async () => {
    server.on(ASKED, {});
    await client.GET(ME);
    keepSecret("nph_1", false);
    await client.GET(ME);
    expect(server.asked.map(({ headers }) => headers.get("Authorization"))).toEqual([null, "Bearer nph_1"]);
  });

  it("makes every answer that is no success a Problem", async () => {
    server.on(ASKED, refusal(422, "name: too long", "name"));
    const error = await failing();
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ status: 422, message: "name: too long", hint: "do it otherwise", field: "name" });
    expect(now()).toEqual({ lostAt: null, needsToken: false });
  });

  it("asks for a token after 401", async () => {
    server.on(ASKED, refusal(401, "a token is needed"));
    await failing();
    expect(now().needsToken).toBe(true);
  });

  it("knows that the server is lost, and that it is back", async () => {
    server.on(ASKED, () => Promise.reject(new TypeError("fetch failed")));
    const error = await failing();
    expect(error).toMatchObject({ status: 0, unreachable: true });
    expect(now().lostAt).not.toBeNull();
    server.on(ASKED, {});
    await client.GET(ME);
    expect(now().lostAt).toBeNull();
  });

  it("does not call a request that was given up a lost server", async () => {
    server.on(ASKED, () => Promise.reject(new DOMException("given up", "AbortError")));
    await failing();
    expect(now().lostAt).toBeNull();
  });
});

describe("queries", () => {
  const again = queries.getDefaultOptions().queries?.retry as (tries: number, error: unknown) => boolean;

  it("are repeated where that may help, and not for ever", () => {
    for (const status of [0, 502, 503, 504]) {
      expect(again(0, new Problem(status, "", ""))).toBe(true);
      expect(again(3, new Problem(status, "", ""))).toBe(false);
    }
    for (const status of [400, 401, 403, 404, 409, 422, 500]) expect(again(0, new Problem(status, "", ""))).toBe(false);
    expect(again(0, new Error("ours"))).toBe(false);
  });
});
