import type { ReactNode } from "react";
import { asProblem } from "../api/problem";
import { Button } from "./Button";

/** An empty list or view: says what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-start gap-2 rounded border border-dashed border-line-strong p-6">
      <p className="font-medium">{title}</p>
      {children && <div className="flex flex-col items-start gap-2 text-dim">{children}</div>}
    </div>
  );
}

/** What failed, what can be done, and what we do about it. */
export function Failure({ error, what, retry }: { error: unknown; what: string; retry?: () => void }) {
  const problem = asProblem(error);
  return (
    <div role="alert" className="flex flex-col items-start gap-2 rounded border border-danger bg-danger-ground p-4">
      <p className="font-medium">
        {what}: {problem.message}
      </p>
      {problem.hint && <p>{problem.hint}</p>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

const LINES = ["w-2/3", "w-full", "w-5/6", "w-1/2"];

/** Keeps room for what is being loaded, so that nothing jumps. */
export function Loading({ what }: { what: string }) {
  return (
    <div role="status" className="flex flex-col gap-3 p-3">
      <span className="sr-only">loading {what}</span>
      {LINES.map((width) => (
        <span key={width} aria-hidden className={`h-3 animate-pulse rounded bg-hover ${width}`} />
      ))}
    </div>
  );
}
