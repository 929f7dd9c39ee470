import { Button } from "../../look/Button";
import { Panel } from "../../look/Panel";
import { count } from "../../words/format";
import { closed } from "./choices";
import { closedGroups, type Folded, foldWords } from "./fold";

const LISTED_MAX = 100;

interface Props {
  folded: Folded;
  nodes: number;
  open: readonly string[];
  onOpen: (name: string) => void;
  onChange: (open: string[]) => void;
}

/** The groups of the picture as a list: what can be opened, and what was opened and can be closed again. */
export function Folds({ folded, nodes, open, onOpen, onChange }: Props) {
  const words = foldWords(folded, nodes);
  if (!words) return null;
  const opened = folded.groups.filter((group) => open.includes(group.name));
  const groups = closedGroups(folded).filter((group) => !open.includes(group.name));
  const more = groups.length - LISTED_MAX;
  return (
    <Panel title="Groups" actions={opened.length > 1 && <Button onClick={() => onChange([])}>Close all</Button>}>
      <p>{words}</p>
      <ul aria-label="Opened groups" className="mt-2 flex flex-col gap-1" hidden={!opened.length}>
        {opened.map((group) => (
          <Line key={group.name} name={group.name} label={group.name} size={group.count}>
            <Button onClick={() => onChange(closed(open, group.name))} aria-label={`Close ${group.name}`}>
              Close
            </Button>
          </Line>
        ))}
      </ul>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <ul aria-label="Groups" tabIndex={0} className="mt-2 flex max-h-64 flex-col gap-1 overflow-y-auto">
        {groups.slice(0, LISTED_MAX).map((group) => (
          <Line key={group.name} name={group.name} label={group.label} size={group.count}>
            <Button onClick={() => onOpen(group.name)} aria-label={`Open ${group.name}`}>
              Open
            </Button>
          </Line>
        ))}
      </ul>
      {more > 0 && <p className="text-dim">and {count(more)} smaller ones: find them by name</p>}
    </Panel>
  );
}

interface LineProps {
  name: string;
  label: string;
  size: number;
  children: React.ReactNode;
}

function Line({ name, label, size, children }: LineProps) {
  return (
    <li className="flex items-center gap-2">
      {/* From the right: names of the same host differ at their ends. */}
      <span dir="rtl" className="min-w-0 flex-1 truncate text-left font-mono" title={name}>
        <bdi dir="ltr">{label}</bdi>
      </span>
      <span className="font-mono text-dim tabular-nums">{count(size)}</span>
      {children}
    </li>
  );
}
