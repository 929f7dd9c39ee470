import { Button } from "../../look/Button";
import { Panel } from "../../look/Panel";
import { count } from "../../words/format";
import type { Colour, Kind } from "./address";
import type { Entry } from "./legend";

interface Props {
  entries: readonly Entry[];
  hidden: readonly string[];
  colour: Colour;
  kind: Kind;
  grouped: boolean;
  onChange: (hidden: string[]) => void;
}

const SIZE_WORDS: Record<Kind, string> = {
  discovery: "Larger: more was found on it.",
  links: "Larger: more links lead to it.",
};
const GROUP_WORDS = "Groups: as large as they hold pages, lines as wide as they stand for links. Pages: ";

/** What the colours mean; each entry also hides and shows what it stands for. */
export function Legend({ entries, hidden, colour, kind, grouped, onChange }: Props) {
  const toggle = (key: string) =>
    onChange(hidden.includes(key) ? hidden.filter((each) => each !== key) : [...hidden, key]);
  return (
    <Panel
      title={`Legend by ${colour}`}
      actions={hidden.length > 0 && <Button onClick={() => onChange([])}>Show all</Button>}
    >
      <ul className="flex flex-col gap-0.5">
        {entries.map((entry) => (
          <li key={entry.key}>
            <LegendButton entry={entry} shown={!hidden.includes(entry.key)} onClick={() => toggle(entry.key)} />
          </li>
        ))}
      </ul>
      <p className="mt-2 text-dim">{grouped ? `${GROUP_WORDS}${SIZE_WORDS[kind].toLowerCase()}` : SIZE_WORDS[kind]}</p>
    </Panel>
  );
}

interface LegendButtonProps {
  entry: Entry;
  shown: boolean;
  onClick: () => void;
}

function LegendButton({ entry, shown, onClick }: LegendButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={shown}
      title={shown ? `Hide ${entry.name}` : `Show ${entry.name}`}
      onClick={onClick}
      className="flex w-full items-center gap-2 rounded px-1 py-0.5 text-left hover:bg-hover"
    >
      <span
        aria-hidden
        className="size-2.5 shrink-0 rounded-full border"
        style={{ borderColor: entry.colour, background: shown ? entry.colour : "transparent" }}
      />
      <span className={`min-w-0 flex-1 truncate ${shown ? "" : "text-dim line-through"}`}>{entry.name}</span>
      <span className="font-mono text-dim tabular-nums">{count(entry.count)}</span>
    </button>
  );
}
