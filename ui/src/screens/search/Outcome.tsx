import { Link, useSearchParams } from "react-router";
import type { SearchResults } from "../../api/types";
import { Button, buttonClass } from "../../look/Button";
import { Empty } from "../../look/States";
import { count } from "../../words/format";
import { type SearchView, skipping } from "./address";
import { pendingWords } from "./sentences";
import type { Ask } from "./useSearchView";

const SYNTAX: readonly [query: string, meaning: string][] = [
  ["golden silk", "pages that have both words"],
  ['"golden silk"', "these words in this order"],
  ["silk -worm", "silk, and no worm"],
  ["spid*", "words that begin like this"],
];

export function Syntax() {
  return (
    <Empty title="Type words: pages that have all of them in their title or text are found.">
      <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-1.5">
        {SYNTAX.map(([query, meaning]) => (
          <div key={query} className="contents">
            <dt>
              <code className="rounded border border-line bg-panel px-1.5 font-mono whitespace-nowrap text-text">
                {query}
              </code>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p>Case and accents do not matter.</p>
    </Empty>
  );
}

/** Results that are there stay where they are: what was indexed since comes when somebody asks for it. */
export function Pending({ bytes, busy, again }: { bytes: number; busy: boolean; again: () => void }) {
  return (
    <p className="flex flex-wrap items-center gap-x-2 text-dim">
      {pendingWords(bytes)}
      <Button busy={busy} onClick={again} className="py-0!">
        Search again
      </Button>
    </p>
  );
}

interface NoneProps {
  view: SearchView;
  answer: SearchResults;
  onAsk: Ask;
}

/** What to do next, which depends on why there is nothing. */
export function NoneFound({ view, answer, onAsk }: NoneProps) {
  const [search] = useSearchParams();
  const { total, indexed, pending_bytes } = answer;
  if (view.offset > 0 && total > 0) {
    return (
      <Empty title="There are no more results.">
        <Link to={{ search: skipping(search, 0).toString() }} className={buttonClass()}>
          The best ones
        </Link>
      </Empty>
    );
  }
  const pending = pending_bytes > 0 && (
    <p>{pendingWords(pending_bytes)}: it may be among that. It is searched again by itself.</p>
  );
  if (!indexed) {
    return (
      <Empty title="No page is indexed yet.">
        {pending || (
          <p>
            Start a crawl: its pages can be found a moment after they were fetched, unless the server runs with{" "}
            <code className="font-mono">--no-index</code>.
          </p>
        )}
      </Empty>
    );
  }
  return (
    <Empty title="No page was found.">
      {pending}
      <p>
        All words must be in the same page, of the {count(indexed)} that are indexed: take fewer words, or the beginning
        of one with *.
      </p>
      {(view.crawl || view.host) && (
        <Button onClick={() => onAsk({ crawl: "", host: "" })}>Search every crawl and host</Button>
      )}
    </Empty>
  );
}
