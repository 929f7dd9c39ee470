import type { CrawlState, UrlState } from "../api/types";
import { words } from "../words/format";
import { CRAWL_COLOURS, stateColour } from "../words/states";

/** A state is a coloured word: the colour is never alone. */
function Word({ text, colour }: { text: string; colour: string }) {
  return (
    <span className="inline-flex items-center gap-1.5 font-medium whitespace-nowrap" style={{ color: colour }}>
      <span aria-hidden className="size-2 shrink-0 rounded-full" style={{ background: colour }} />
      {text}
    </span>
  );
}

export function StateWord({ state }: { state: UrlState }) {
  return <Word text={words(state)} colour={stateColour(state)} />;
}

export function CrawlWord({ state }: { state: CrawlState }) {
  return <Word text={state} colour={CRAWL_COLOURS[state]} />;
}

export function GoodWord({ good, yes, no }: { good: boolean; yes: string; no: string }) {
  return <Word text={good ? yes : no} colour={good ? "var(--state-visited)" : "var(--state-failed)"} />;
}
