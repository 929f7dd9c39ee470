/** What went wrong, in the one shape that the API has for it. */
export class Problem extends Error {
  constructor(
    readonly status: number, // 0: the server was not reached
    readonly code: string,
    message: string,
    readonly hint = "",
    readonly field: string | null = null,
  ) {
    super(message);
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

export const UNREACHABLE = "the server does not answer";

export async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
  const error = (body as { error?: { code?: string; message?: string; hint?: string; field?: string | null } } | null)
    ?.error;
  if (!error?.message) return new Problem(response.status, "error", `the server answered ${response.status}`);
  return new Problem(response.status, error.code ?? "error", error.message, error.hint, error.field ?? null);
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(500, "internal", error instanceof Error ? error.message : String(error), "reload the page");
}
