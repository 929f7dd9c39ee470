import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
import type { Problem } from "../../api/problem";
import { Button } from "../../look/Button";
import { Typed } from "../urls/list/Typed";
import { useTyping } from "../useTyping";
import { QUERY_CHARS_MAX, type Question } from "./address";
import { CrawlChoice } from "./CrawlChoice";
import { wrongField } from "./sentences";
import type { Ask } from "./useSearchView";

const HOST_CHARS_MAX = 255;

interface Props {
  question: Question;
  problem: Problem | null;
  onAsk: Ask;
  onSubmit: (question: Pick<Question, "q" | "host">) => void;
}

/** Whatever is typed or chosen goes into the address; Enter does not wait for a pause. */
export function SearchForm({ question, problem, onAsk, onSubmit }: Props) {
  const id = useId();
  const wrong = wrongField(problem);
  const says = (field: keyof Question) => (wrong === field ? (problem?.message ?? "") : "");
  const submitted = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget);
    onSubmit({ q: String(typed.get("q") ?? "").trim(), host: String(typed.get("host") ?? "").trim() });
  };
  return (
    <search aria-label="Search">
      <form onSubmit={submitted} className="flex max-w-4xl flex-col gap-2">
        <div className="flex gap-2">
          <QueryField value={question.q} error={says("q")} describedBy={`${id}-q`} onAsk={onAsk} />
          <Button type="submit" kind="primary">
            Search
          </Button>
        </div>
        <Wrong id={`${id}-q`}>{says("q")}</Wrong>
        <div className="flex flex-wrap items-center gap-2">
          <div className="min-w-0 flex-1 basis-36 sm:max-w-96">
            <CrawlChoice
              chosen={question.crawl}
              error={says("crawl")}
              describedBy={`${id}-crawl`}
              onChoose={(crawl) => onAsk({ crawl })}
            />
          </div>
          <div className="min-w-0 flex-1 basis-36 sm:max-w-64">
            <Typed
              label="Host"
              name="host"
              value={question.host}
              maxLength={HOST_CHARS_MAX}
              aria-invalid={says("host") ? true : undefined}
              aria-describedby={says("host") ? `${id}-host` : undefined}
              onCommit={(host) => onAsk({ host }, true)}
            />
          </div>
          {(question.crawl || question.host) && (
            <Button kind="quiet" onClick={() => onAsk({ crawl: "", host: "" })}>
              Clear filters
            </Button>
          )}
        </div>
        <Wrong id={`${id}-crawl`}>{says("crawl")}</Wrong>
        <Wrong id={`${id}-host`}>{says("host")}</Wrong>
      </form>
    </search>
  );
}

interface QueryProps {
  value: string;
  error: string;
  describedBy: string;
  onAsk: Ask;
}

function QueryField({ value, error, describedBy, onAsk }: QueryProps) {
  const field = useRef<HTMLInputElement>(null);
  const [text, type] = useTyping(value, (q) => onAsk({ q }, true));
  const blank = value === "";
  // Not to scroll: Back comes to where somebody was in the results.
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    if (blank) field.current?.focus({ preventScroll: true });
  }, [blank]);
  return (
    <input
      ref={field}
      data-filter
      type="search"
      name="q"
      aria-label="Words to search for"
      aria-invalid={error ? true : undefined}
      aria-describedby={error ? describedBy : undefined}
      placeholder="Search what was crawled"
      value={text}
      maxLength={QUERY_CHARS_MAX}
      autoComplete="off"
      spellCheck={false}
      enterKeyHint="search"
      onChange={(event) => type(event.target.value)}
      className="input min-w-0 flex-1"
    />
  );
}

function Wrong({ id, children }: { id: string; children: ReactNode }) {
  if (!children) return null;
  return (
    <p id={id} role="alert" className="wrap-anywhere text-danger">
      {children}
    </p>
  );
}
