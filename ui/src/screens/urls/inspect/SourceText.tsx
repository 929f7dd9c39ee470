import { useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { Button } from "../../../look/Button";
import { count } from "../../../words/format";
import { withParameters } from "../../address";
import { Typed } from "../list/Typed";
import { earlier, findIn, later, marked, type Piece, piecesOf, rangeWith, START, stepped } from "./source";

/** Some lines of it at a time; a find may lie anywhere. */
export function SourceText({ text }: { text: string }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  const [wanted, setWanted] = useFind();
  const found = useMemo(() => findIn(pieces, wanted), [pieces, wanted]);
  const [range, setRange] = useState(START);
  const [at, setAt] = useState(0);
  const current = found[at] ?? null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another word begins at its first find
  useEffect(() => setAt(0), [wanted]);
  useEffect(() => {
    if (current !== null) setRange((before) => rangeWith(before, current));
  }, [current]);
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <Find
        wanted={wanted}
        found={found.length}
        at={at}
        onFind={setWanted}
        onStep={(by) => setAt(stepped(at, by, found.length))}
      />
      {range.from > 0 && (
        <Button className="self-start" onClick={() => setRange(earlier)}>
          Earlier lines
        </Button>
      )}
      <ol className="min-w-0 rounded border border-line bg-panel py-1">
        {pieces.slice(range.from, range.to).map((piece) => (
          <Line key={piece.at} piece={piece} wanted={wanted} current={piece.at === current} />
        ))}
      </ol>
      {range.to < pieces.length && (
        <Button className="self-start" onClick={() => setRange(later)}>
          More lines
        </Button>
      )}
    </div>
  );
}

/** `?find=`: a place in a page can be shared. */
function useFind(): [string, (text: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = (text: string) => setSearch((before) => withParameters(before, { find: text }), { replace: true });
  return [search.get("find") ?? "", set];
}

interface FindProps {
  wanted: string;
  found: number;
  at: number;
  onFind: (text: string) => void;
  onStep: (by: number) => void;
}

function Find({ wanted, found, at, onFind, onStep }: FindProps) {
  return (
    <search aria-label="Find in the source" className="flex flex-wrap items-center gap-2">
      <div className="min-w-40 flex-1">
        <Typed
          label="Find in the source"
          value={wanted}
          onCommit={onFind}
          onKeyDown={(event) => event.key === "Enter" && onStep(event.shiftKey ? -1 : 1)}
        />
      </div>
      <Button disabled={!found} onClick={() => onStep(-1)}>
        Previous
      </Button>
      <Button disabled={!found} onClick={() => onStep(1)}>
        Next
      </Button>
      <span role="status" className="min-w-20 text-dim tabular-nums">
        {wanted && (found ? `${count(at + 1)} of ${count(found)} lines` : "not found")}
      </span>
    </search>
  );
}

function Line({ piece, wanted, current }: { piece: Piece; wanted: string; current: boolean }) {
  const line = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (current) line.current?.scrollIntoView?.({ block: "center" });
  }, [current]);
  return (
    <li ref={line} className={`grid grid-cols-[3.5rem_1fr] gap-2 font-mono ${current ? "bg-warn-ground" : ""}`}>
      <span aria-hidden="true" className="number text-dim select-none">
        {piece.line ?? ""}
      </span>
      <code className="min-w-0 pr-2 break-all whitespace-pre-wrap">
        <Marked text={piece.text} wanted={wanted} />
      </code>
    </li>
  );
}

function Marked({ text, wanted }: { text: string; wanted: string }) {
  return marked(text, wanted).map(({ at, text, found }) =>
    found ? (
      <mark key={at} className="rounded bg-warn text-ground">
        {text}
      </mark>
    ) : (
      text
    ),
  );
}
