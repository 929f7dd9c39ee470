import { useRef } from "react";
import { useSearchParams } from "react-router";
import { asking, type Question, type SearchView, viewOf } from "./address";

/** Asks another question; false if it is the one in the address already. */
export type Ask = (change: Partial<Question>, typed?: boolean) => boolean;

interface SearchViewState {
  view: SearchView;
  ask: Ask;
  submit: (question: Pick<Question, "q" | "host">) => boolean;
}

/**
 * Typing replaces the entry of the history, so that Back does not go through it letter by letter. Only the first change of
 * a question that was meant (by Enter, or because somebody came to it) makes a new one.
 */
export function useSearchView(): SearchViewState {
  const [search, setSearch] = useSearchParams();
  const view = viewOf(search);
  const meant = useRef(view.q !== "");
  const ask: Ask = (change, typed = false) => {
    const next = { ...view, ...change };
    if (next.q === view.q && next.crawl === view.crawl && next.host === view.host) return false;
    setSearch((before) => asking(before, change), { replace: typed && !meant.current });
    meant.current = false;
    return true;
  };
  const submit: SearchViewState["submit"] = (question) => {
    const other = ask(question, true);
    meant.current = question.q !== "";
    return other;
  };
  return { view, ask, submit };
}
