import { type Dispatch, type SetStateAction, useCallback, useEffect, useRef, useState } from "react";
import { useLocation, useSearchParams } from "react-router";
import type { Settings } from "../../../api/types";
import { handedOver } from "./copy";
import { type Draft, draftOf, searchOf } from "./draft";

const WRITE_MS = 300; // browsers refuse to change the address with every key

interface Kept {
  draft: Draft;
  setDraft: Dispatch<SetStateAction<Draft>>;
  write: () => void; // at once
}

/**
 * The form begins with what a link hands over, else with the address. It follows the address, and the address follows
 * the form a moment later, in place. `still`: the address is not touched, as another page is about to come.
 */
export function useDraft(settings: Settings, still: boolean): Kept {
  const [search, setSearch] = useSearchParams();
  const { state } = useLocation();
  const [draft, setDraft] = useState(() => handedOver(state) ?? draftOf(search));
  const written = useRef(search.toString());

  useEffect(() => {
    const now = search.toString();
    if (now === written.current) return;
    written.current = now;
    setDraft(draftOf(search));
  }, [search]);

  const write = useCallback(() => {
    const next = searchOf(draft, settings);
    if (next.toString() === written.current) return;
    written.current = next.toString();
    setSearch(next, { replace: true });
  }, [draft, settings, setSearch]);

  useEffect(() => {
    if (still) return;
    const timer = setTimeout(write, WRITE_MS);
    return () => clearTimeout(timer);
  }, [write, still]);

  return { draft, setDraft, write };
}
