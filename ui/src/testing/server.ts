/** The server of the tests of screens: only `fetch` is false. The client keeps the `fetch` that it finds when it is
 * loaded; setup.ts loads this file before any test, so a test just says what is answered. */

export interface Asked {
  method: string;
  path: string; // decoded, without the query
  query: URLSearchParams;
  headers: Headers;
  body: unknown; // null: none
}

/** A body, sent as JSON; null is "204, no content". */
type Body = object | null;
type Answer = Body | Refusal | Response | Promise<Response>;

class Refusal {
  constructor(
    readonly status: number,
    private readonly error: { code: string; message: string; hint: string; field: string | null },
  ) {}

  sent(): Response {
    return Response.json({ error: this.error }, { status: this.status });
  }
}

export function refusal(status: number, message: string, field: string | null = null, code = "error"): Refusal {
  return new Refusal(status, { code, message, hint: "do it otherwise", field });
}

function sent(body: Answer): Response | Promise<Response> {
  if (body instanceof Response || body instanceof Promise) return body;
  if (body instanceof Refusal) return body.sent();
  return body === null ? new Response(null, { status: 204 }) : Response.json(body);
}

class FakeServer {
  asked: Asked[] = [];
  private answers = new Map<string, (asked: Asked) => Answer>();

  /** `on("GET /api/v1/me", aCaller())`: always the same, or what a function makes of the question. */
  on(what: string, answer: Body | Refusal | ((asked: Asked) => Answer)): this {
    this.answers.set(what, typeof answer === "function" ? (answer as (asked: Asked) => Answer) : () => answer);
    return this;
  }

  /** All requests of one method and path, in their order. */
  to(what: string): Asked[] {
    return this.asked.filter(({ method, path }) => `${method} ${path}` === what);
  }

  reset(): void {
    this.asked = [];
    this.answers.clear();
  }

  async answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const { method, headers } = request;
    const text = await request.text();
    const path = decodeURIComponent(pathname);
    const asked = { method, path, query: searchParams, headers, body: text ? JSON.parse(text) : null };
    this.asked.push(asked);
    const found = this.answers.get(`${method} ${path}`);
    return sent(found ? found(asked) : refusal(404, `there is nothing at ${path}`));
  }
}

export const server = new FakeServer();
globalThis.fetch = (input, init) => server.answer(new Request(input, init));
