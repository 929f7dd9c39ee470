import { type ReactNode, useEffect } from "react";
import { Link } from "react-router";

interface Crumb {
  to: string;
  text: string;
}

interface Props {
  title: string;
  crumbs?: readonly Crumb[];
  beside?: ReactNode; // next to the title: a state
  actions?: ReactNode;
  json?: string; // the API call behind this view
  children: ReactNode;
}

/** The frame of every screen: the noun, what can be done with it, and the same as JSON. */
export function Page({ title, crumbs = [], beside, actions, json, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Nephila`;
  }, [title]);
  return (
    <div className="flex min-w-0 flex-col gap-4 p-4">
      <header className="flex min-h-7.5 flex-wrap items-start justify-between gap-2">
        <div className="min-w-0">
          {crumbs.length > 0 && (
            <nav aria-label="Breadcrumbs">
              <ol className="flex flex-wrap gap-1.5 text-dim">
                {crumbs.map(({ to, text }) => (
                  <li key={to} className="flex gap-1.5">
                    <Link to={to} className="link">
                      {text}
                    </Link>
                    <span aria-hidden>/</span>
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <div className="flex min-w-0 flex-wrap items-center gap-3">
            <h1 className="truncate text-title font-semibold">{title}</h1>
            {beside}
          </div>
        </div>
        <div className="flex flex-wrap items-center gap-2">
          {actions}
          {json && <JsonLink path={json} />}
        </div>
      </header>
      {children}
    </div>
  );
}

/** The API call behind a view: every screen has one. */
export function JsonLink({ path }: { path: string }) {
  return (
    <a
      href={path}
      target="_blank"
      rel="noreferrer"
      title={`the API call behind this view: ${path}`}
      className="rounded border border-line px-2 py-1 font-mono text-dim hover:bg-hover hover:text-text"
    >
      JSON
    </a>
  );
}
