import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 300;

/** The text of a field that is ahead of its value: `commit` has it, trimmed, when the typing pauses. */
export function useTyping(value: string, commit: (text: string) => void): [text: string, type: (text: string) => void] {
  const [text, setText] = useState(value);
  const said = useRef(value);
  const newest = useRef(commit);
  newest.current = commit; // an older one would write an older address

  // What comes from elsewhere (Back, "clear filters") goes in; what we said ourselves must not undo what is typed since.
  useEffect(() => {
    if (value !== said.current) setText(value);
    said.current = value;
  }, [value]);

  useEffect(() => {
    const trimmed = text.trim();
    if (trimmed === said.current) return;
    const timer = setTimeout(() => {
      said.current = trimmed;
      newest.current(trimmed);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);

  return [text, setText];
}
