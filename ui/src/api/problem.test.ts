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

describe("under a control", () => {
  it.each([
    ["delay_ms: Input should be less", "delay_ms", "Delay: Input should be less"],
    ["max_urls can be raised or lowered", "max_urls", "Delay can be raised or lowered"],
    ["it has used 50 of max_urls: give a higher max_urls", "max_urls", "it has used 50 of Delay: give a higher Delay"],
    ["a name is given already", "name", "a name is given already"],
    ["there is a token x already", "name", "there is a token x already"],
    ["it is over", null, "it is over"],
  ])("%s, of the field %s, names the label", (message, field, shown) => {
    expect(new Problem(422, "invalid", message, "", field).under("Delay")).toBe(shown);
  });
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
