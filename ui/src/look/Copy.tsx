import { useState } from "react";

const SHOWN_MS = 1500;

/** Copies its text on click and says so in place. */
export function Copy({ text, label = "copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={`${label}: ${text}`}
      className="rounded px-1 text-dim hover:bg-hover hover:text-text"
    >
      {done ? "copied" : label}
    </button>
  );
}
