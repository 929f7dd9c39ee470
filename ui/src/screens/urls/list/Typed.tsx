import { type InputHTMLAttributes, useEffect, useId, useRef, useState } from "react";

const PAUSE_MS = 300;

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> {
  label: string;
  value: string;
  onCommit: (value: string) => void;
  digits?: boolean; // nothing else can be typed
}

/** An input that speaks when the typing pauses. What comes from elsewhere (Back, "clear filters") goes in at once. */
export function Typed({ label, value, onCommit, digits = false, className = "", ...rest }: Props) {
  const id = useId();
  const [text, setText] = useState(value);
  const said = useRef(value);
  const commit = useRef(onCommit);
  commit.current = onCommit; // the newest: an older one would write an older address
  useEffect(() => {
    if (value !== said.current) setText(value);
    said.current = value;
  }, [value]);
  useEffect(() => {
    const trimmed = text.trim();
    if (trimmed === said.current) return;
    const timer = setTimeout(() => {
      said.current = trimmed;
      commit.current(trimmed);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <>
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <input
        {...rest}
        id={id}
        type="search"
        autoComplete="off"
        spellCheck={false}
        placeholder={label}
        value={text}
        inputMode={digits ? "numeric" : undefined}
        onChange={({ target }) => setText(digits ? target.value.replace(/\D/g, "") : target.value)}
        className={`input font-mono ${className}`}
      />
    </>
  );
}
