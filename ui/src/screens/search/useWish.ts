import { useRef } from "react";
import { useSearchParams } from "react-router";
import { asking, type Question, type Wish, wishOf } from "./address";

/** Whether it was another question than the one in the address. */
export type Ask = (change: Partial<Question>, typed?: boolean) => boolean;

interface Wished {
  wish: Wish;
  ask: Ask;
  submit: (question: Pick<Question, "q" | "host">) => boolean;
}

/**
 * Typing replaces the entry of the history, so that Back does not go through it letter by letter. Only the first change of
 * a question that was meant (by Enter, or because somebody came to it) makes a new one.
 */
export function useWish(): Wished {
  const [search, setSearch] = useSearchParams();
  const wish = wishOf(search);
  const meant = useRef(wish.q !== "");
  const ask: Ask = (change, typed = false) => {
    const next = { ...wish, ...change };
    if (next.q === wish.q && next.crawl === wish.crawl && next.host === wish.host) return false;
    setSearch((before) => asking(before, change), { replace: typed && !meant.current });
    meant.current = false;
    return true;
  };
  const submit: Wished["submit"] = (question) => {
    const other = ask(question, true);
    meant.current = question.q !== "";
    return other;
  };
  return { wish, ask, submit };
}
