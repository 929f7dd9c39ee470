import { Button } from "../../look/Button";
import { Panel } from "../../look/Panel";
import { count } from "../../words/format";
import { type Folded, foldWords } from "./fold";

interface Props {
  folded: Folded;
  nodes: number;
  open: readonly string[];
  onChange: (open: string[]) => void;
}

/** What is folded, and what was opened and can be closed again. */
export function Folds({ folded, nodes, open, onChange }: Props) {
  const words = foldWords(folded, nodes);
  if (!words) return null;
  const opened = folded.groups.filter((group) => open.includes(group.name));
  return (
    <Panel
      title={folded.by === "host" ? "Folded hosts" : "Folded folders"}
      actions={opened.length > 1 && <Button onClick={() => onChange([])}>Close all</Button>}
    >
      <p>{words}</p>
      {opened.length > 0 && (
        <ul className="mt-2 flex flex-col gap-1">
          {opened.map((group) => (
            <li key={group.name} className="flex items-center gap-2">
              <span className="min-w-0 flex-1 truncate font-mono" title={group.name}>
                {group.name}
              </span>
              <span className="font-mono text-dim tabular-nums">{count(group.shown)}</span>
              <Button
                onClick={() => onChange(open.filter((each) => each !== group.name))}
                aria-label={`Close ${group.name}`}
              >
                Close
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
