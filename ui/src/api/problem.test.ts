import { describe, expect, it } from "vitest";
import { asProblem, Problem, problemOf } from "./problem";

const answer = (body: string, status = 409) => new Response(body, { status });

describe("problemOf", () => {
  it("reads the one shape of the API", async () => {
    const body = { error: { code: "conflict", message: "it is over", hint: "look again", field: "state" } };
    const problem = await problemOf(answer(JSON.stringify(body)));
    expect(problem).toMatchObject({ status: 409, ...body.error });
    expect(problem.unreachable).toBe(false);
  });

  it("does with less", async () => {
    const problem = await problemOf(answer('{"error":{"message":"no"}}'));
    expect(problem).toMatchObject({ code: "error", message: "no", hint: "", field: null });
  });

  it.each(["", "<html>Bad Gateway</html>", "null", "[]", '"text"', '{"error":null}', '{"error":{}}', '{"detail":"x"}'])(
    "says the status where the body is %j",
    async (body) => {
      expect(await problemOf(answer(body, 502))).toMatchObject({ status: 502, message: "the server answered 502" });
    },
  );
});

describe("asProblem", () => {
  it("leaves a Problem as it is", () => {
    const problem = new Problem(0, "unreachable", "gone");
    expect(asProblem(problem)).toBe(problem);
    expect(problem.unreachable).toBe(true);
  });

  it("takes whatever is thrown", () => {
    expect(asProblem(new TypeError("x is no function"))).toMatchObject({ status: 500, message: "x is no function" });
    expect(asProblem("text")).toMatchObject({ message: "text" });
    expect(asProblem(undefined)).toMatchObject({ message: "undefined" });
  });
});
