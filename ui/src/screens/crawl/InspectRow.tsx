import type { MouseEvent, ReactNode } from "react";
import { onEnter } from "../../keys/rows";
import { useInspected } from "./context";

/** A row about a URL, which it opens in the inspector; a click on a link inside of the row is the link's. */
export function InspectRow({ url, children }: { url: number; children: ReactNode }) {
  const [inspected, inspect] = useInspected();
  const open = url === inspected;
  const clicked = ({ target }: MouseEvent) => {
    if (!(target instanceof Element && target.closest("a"))) inspect(url);
  };
  return (
    <tr
      tabIndex={-1}
      aria-current={open || undefined}
      onClick={clicked}
      onKeyDown={onEnter(() => inspect(url))}
      className={`cursor-pointer ${open ? "bg-accent-ground" : ""}`}
    >
      {children}
    </tr>
  );
}
