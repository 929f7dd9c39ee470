/** An error of the API, which has one shape for all. */
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

  /** The message at a control, which people know by its label: the API names its own field. Inside a sentence only a
   * name like max_pages is one for certain. */
  under(label: string): string {
    const { field, message } = this;
    if (!field) return message;
    const rest = message.startsWith(field) ? message.slice(field.length) : null;
    const shown = rest === null ? message : `${label}${rest}`;
    return field.includes("_") ? shown.replaceAll(field, label) : shown;
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
