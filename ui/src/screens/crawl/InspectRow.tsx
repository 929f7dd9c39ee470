import type { ReactNode } from "react";
import { onEnter } from "../../keys/rows";
import { useInspected } from "./context";

/** A row about a URL, which it opens in the inspector. */
export function InspectRow({ url, children }: { url: number; children: ReactNode }) {
  const [inspected, inspect] = useInspected();
  const open = url === inspected;
  return (
    <tr
      tabIndex={-1}
      aria-current={open || undefined}
      onClick={() => inspect(url)}
      onKeyDown={onEnter(() => inspect(url))}
      className={`cursor-pointer ${open ? "bg-accent-ground" : ""}`}
    >
      {children}
    </tr>
  );
}
