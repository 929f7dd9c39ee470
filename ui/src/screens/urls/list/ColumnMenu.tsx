import { useState } from "react";
import { type ColumnId, canHide, columnsOf, keepHidden, keptHidden, NAMES, toggled, type View } from "./columns";
import { Menu } from "./Menu";

export function useHidden(view: View): [hidden: ReadonlySet<ColumnId>, toggle: (column: ColumnId) => void] {
  const [hidden, setHidden] = useState(() => keptHidden(view));
  const toggle = (column: ColumnId) => {
    const after = toggled(hidden, column);
    keepHidden(view, after);
    setHidden(after);
  };
  return [hidden, toggle];
}

interface Props {
  view: View;
  hidden: ReadonlySet<ColumnId>;
  onToggle: (column: ColumnId) => void;
}

export function ColumnMenu({ view, hidden, onToggle }: Props) {
  return (
    <Menu text="Columns" right>
      <fieldset className="flex flex-col gap-0.5">
        <legend className="sr-only">Columns that are shown</legend>
        {columnsOf(view)
          .filter(canHide)
          .map((column) => (
            <label key={column} className="flex cursor-pointer items-center gap-2 rounded px-1 py-0.5">
              <input type="checkbox" checked={!hidden.has(column)} onChange={() => onToggle(column)} />
              {NAMES[column]}
            </label>
          ))}
      </fieldset>
    </Menu>
  );
}
