import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { withParameters } from "./address";

const WAIT_MS = 300;

interface Props {
  label: string;
  placeholder: string;
  keepPage?: boolean; // it filters the page that is shown; else it begins again at the first one
}

/** Filters by the parameter `text` of the address, a moment after the last key. */
export function TextFilter({ label, placeholder, keepPage = false }: Props) {
  const [search, setSearch] = useSearchParams();
  const text = search.get("text") ?? "";
  const [typed, setTyped] = useState(text);
  const sent = useRef(text);

  // Back and Forward change the address under the field; what we sent ourselves must not undo what is typed since.
  useEffect(() => {
    if (text !== sent.current) setTyped(text);
    sent.current = text;
  }, [text]);

  useEffect(() => {
    const wanted = typed.trim();
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      const changes = { text: wanted, ...(keepPage ? {} : { after: null }) };
      setSearch((before) => withParameters(before, changes), { replace: true });
    }, WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed, keepPage, setSearch]);

  return (
    <input
      data-filter
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      maxLength={200}
      autoComplete="off"
      onChange={(event) => setTyped(event.target.value)}
      className="input max-w-72"
    />
  );
}
