import { type FocusEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { buttonClass } from "../../../look/Button";

/** A button that opens a small box below it; Esc, or going elsewhere, closes it. */
export function Menu({ text, right = false, children }: { text: string; right?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDetailsElement>(null);
  const summary = useRef<HTMLElement>(null);
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !box.current?.open) return;
    event.preventDefault(); // or it would close the inspector as well
    box.current.open = false;
    summary.current?.focus();
  };
  const left = (event: FocusEvent<HTMLElement>) => {
    const to = event.relatedTarget;
    if (to && !event.currentTarget.contains(to) && box.current) box.current.open = false;
  };
  useEffect(() => {
    if (!open) return;
    const elsewhere = (event: globalThis.PointerEvent) => {
      if (box.current && event.target instanceof Node && !box.current.contains(event.target)) box.current.open = false;
    };
    document.addEventListener("pointerdown", elsewhere, true);
    return () => document.removeEventListener("pointerdown", elsewhere, true);
  }, [open]);
  return (
    <details
      ref={box}
      onKeyDown={pressed}
      onBlur={left}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="relative"
    >
      <summary ref={summary} className={`${buttonClass()} list-none select-none [&::-webkit-details-marker]:hidden`}>
        {text}
        <svg aria-hidden="true" viewBox="0 0 8 5" className="w-2 fill-none stroke-current">
          <path d="m1 1 3 3 3-3" />
        </svg>
      </summary>
      <div
        className={`absolute top-full z-30 mt-1 max-w-[90vw] min-w-44 rounded border border-line-strong bg-raised p-2 ${right ? "right-0" : "left-0"}`}
      >
        {children}
      </div>
    </details>
  );
}
