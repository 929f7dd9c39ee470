import type { KeyboardEvent } from "react";

/** Of a row: Enter on a link or button inside of it is theirs. */
export function onEnter(run: () => unknown) {
  return (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === "Enter" && event.target === event.currentTarget) run();
  };
}
