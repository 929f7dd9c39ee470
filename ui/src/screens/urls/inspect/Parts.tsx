/** The small pieces that all tabs of the inspector are made of. */
import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { UrlState } from "../../../api/types";
import { useNow } from "../../../look/Moment";
import { UrlText } from "../../../look/UrlText";
import { StateWord } from "../../../look/Word";
import { duration } from "../../../words/format";
import { inspecting } from "../list/query";

export function Part({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col gap-1.5 border-t border-line pt-3 first:border-0 first:pt-0">
      <h3 className="font-medium">
        {title}
        {note && <span className="font-normal text-dim"> {note}</span>}
      </h3>
      {children}
    </section>
  );
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(6rem,max-content)_1fr] gap-x-4 gap-y-0.5">{children}</dl>;
}

/** A line of name and value; left out where there is no value. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === "" || children === false) return null;
  return (
    <>
      <dt className="text-dim">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

/** Another URL of this crawl: the inspector goes to it, on the same tab. */
export function Inspect({ id, url }: { id: number; url: string }) {
  const [search] = useSearchParams();
  return (
    <Link to={`?${inspecting(search, id)}`} className="block min-w-0 hover:underline">
      <UrlText url={url} wrap />
    </Link>
  );
}

interface Known {
  id: number;
  url: string;
  depth: number;
  state: UrlState;
  status?: number | null;
}

export function Chain({ label, urls }: { label: string; urls: readonly Known[] }) {
  return (
    <ol aria-label={label} className="flex flex-col gap-1.5">
      {urls.map(({ id, url, depth, state, status }) => (
        <li key={id} className="border-l-2 border-line pl-2">
          <Inspect id={id} url={url} />
          <span className="flex flex-wrap gap-x-3 text-dim">
            <StateWord state={state} />
            {status != null && <span className="font-mono">{status}</span>}
            <span>depth {depth}</span>
          </span>
        </li>
      ))}
    </ol>
  );
}

/** Runs down between two reads. `at`: when the rest was read. */
export function Countdown({ restMs, at }: { restMs: number; at: number }) {
  const left = at + restMs - useNow();
  return <span className="tabular-nums">{left > 0 ? `in ${duration(left)}` : "now"}</span>;
}
