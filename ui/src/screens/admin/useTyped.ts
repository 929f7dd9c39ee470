import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { withParameters } from "../address";

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
      setSearch((before) => withParameters(before, { [name]: text }), { replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, name, setSearch]);

  return [text, setText];
}
