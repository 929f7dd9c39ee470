import { type KeyboardEvent, useDeferredValue, useId, useMemo, useState } from "react";
import { type Found, find } from "./find";
import type { Group } from "./fold";
import type { GraphData } from "./graphData";

interface Props {
  data: GraphData;
  groups: readonly Group[];
  onChoose: (found: Found) => void;
}

/** The keyboard's way to every node. */
export function FindBox({ data, groups, onChoose }: Props) {
  const id = useId();
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const wanted = useDeferredValue(text);
  const found = useMemo(() => find(wanted, data.nodes, groups), [wanted, data, groups]);
  const shown = open && text.trim() !== "";
  const current = Math.min(active, found.length - 1);
  const choose = (choice: Found | undefined) => {
    if (!choice) return;
    setOpen(false);
    onChoose(choice);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (found.length) setActive((current + step + found.length) % found.length);
    } else if (event.key === "Enter" && shown) {
      event.preventDefault();
      choose(found[current]);
    } else if (event.key === "Escape" && shown) {
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div className="relative min-w-48">
      <input
        type="search"
        role="combobox"
        aria-label="Find a node by URL or title"
        aria-expanded={shown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={shown && found[current] ? `${id}-${current}` : undefined}
        autoComplete="off"
        data-filter
        placeholder="Find a node by URL or title"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={pressed}
        className="input"
      />
      <Suggestions id={id} shown={shown} found={found} current={current} choose={choose} />
    </div>
  );
}

interface SuggestionsProps {
  id: string;
  shown: boolean;
  found: readonly Found[];
  current: number;
  choose: (found: Found) => void;
}

function Suggestions({ id, shown, found, current, choose }: SuggestionsProps) {
  return (
    <div
      hidden={!shown}
      className="absolute top-full right-0 left-0 z-30 mt-1 max-h-80 overflow-y-auto rounded border border-line-strong bg-raised"
    >
      <div role="listbox" id={`${id}-list`} aria-label="Nodes" hidden={!found.length}>
        {found.map((each, place) => (
          // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: the keys are those of the box
          <div
            key={each.key}
            role="option"
            id={`${id}-${place}`}
            aria-selected={place === current}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(each)}
            className={`cursor-pointer px-2 py-1 ${place === current ? "bg-accent-ground" : "hover:bg-hover"}`}
          >
            <span className="block truncate font-mono" title={each.text}>
              {each.text}
            </span>
            {each.note && <span className="block truncate text-dim">{each.note}</span>}
          </div>
        ))}
      </div>
      {!found.length && <p className="px-2 py-1 text-dim">No node has this in its URL or title.</p>}
    </div>
  );
}
