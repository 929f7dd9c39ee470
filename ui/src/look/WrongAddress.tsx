import { Link, useSearchParams } from "react-router";
import { buttonClass } from "./Button";

/** The address asks for what there is not: said, instead of a list that would be empty or another one. */
export function WrongAddress({ wrong }: { wrong: readonly string[] }) {
  const [search] = useSearchParams();
  const names = new Set(wrong.map((line) => line.slice(0, line.indexOf(":"))));
  const kept = new URLSearchParams([...search].filter(([name]) => !names.has(name)));
  return (
    <div role="alert" className="flex flex-col items-start gap-2 rounded border border-danger bg-danger-ground p-4">
      <p className="font-medium">The address asks for something that there is not.</p>
      <ul className="wrap-anywhere">
        {wrong.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <Link to={{ search: kept.toString() }} className={buttonClass()}>
        Show the list without it
      </Link>
    </div>
  );
}
