import { count } from "../words/format";

/** A number; `more`: counting stopped there, and a plus and a word say so. */
export function AtLeast({ number, more }: { number: number; more: boolean }) {
  if (!more) return <>{count(number)}</>;
  return (
    <span title={`at least ${count(number)}: counting stopped there`}>
      <span className="sr-only">at least </span>
      {count(number)}+
    </span>
  );
}
