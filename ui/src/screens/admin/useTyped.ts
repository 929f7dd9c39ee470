import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";

const PAUSE_MS = 250;

/** A filter in the address that is typed: the field is ahead of the address, which follows when the typing pauses. */
export function useTyped(name: string): [text: string, type: (text: string) => void] {
  const [search, setSearch] = useSearchParams();
  const given = search.get(name) ?? "";
  const [text, setText] = useState(given);
  const sent = useRef(given);

  useEffect(() => {
    // Somebody else changed it: Back, or a link.
    if (given === sent.current) return;
    sent.current = given;
    setText(given);
  }, [given]);

  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      setSearch((before) => withParameter(before, name, text), { replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, name, setSearch]);

  return [text, setText];
}

/** An empty value is the default: it is left out. */
export function withParameter(search: URLSearchParams, name: string, value: string): URLSearchParams {
  const after = new URLSearchParams(search);
  if (value) after.set(name, value);
  else after.delete(name);
  return after;
}
