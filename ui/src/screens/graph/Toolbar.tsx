import { Button } from "../../look/Button";
import { many } from "../../words/format";
import { type Colour, EVERY_MAX, type Kind } from "./address";
import { KIND_NAMES } from "./sentences";
import type { Address } from "./useView";

const KINDS: readonly Kind[] = ["discovery", "links"];
const COLOURS: readonly Colour[] = ["state", "host", "depth"];
const SECONDS = Array.from({ length: EVERY_MAX }, (_, place) => place + 1);

/** Which graph, in which colours, how often it is read. */
export function Toolbar({ address, live }: { address: Address; live: boolean }) {
  const { view, go, set } = address;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <fieldset className="flex">
        <legend className="sr-only">Graph</legend>
        {KINDS.map((kind) => (
          <Choice key={kind} on={view.kind === kind} choose={() => go({ kind, focus: null })}>
            {KIND_NAMES[kind]}
          </Choice>
        ))}
      </fieldset>
      <label className="flex items-center gap-1.5">
        Colour by
        <select
          value={view.colour}
          onChange={(event) => set({ colour: COLOURS.find((each) => each === event.target.value) ?? "state" })}
          className="input w-auto"
        >
          {COLOURS.map((colour) => (
            <option key={colour}>{colour}</option>
          ))}
        </select>
      </label>
      {live && (
        <label className="flex items-center gap-1.5">
          Refresh every
          <select
            value={view.every}
            onChange={(event) => set({ every: Number(event.target.value) })}
            className="input w-auto"
          >
            {SECONDS.map((seconds) => (
              <option key={seconds} value={seconds}>
                {seconds} s
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

interface ChoiceProps {
  on: boolean;
  choose: () => void;
  children: string;
}

function Choice({ on, choose, children }: ChoiceProps) {
  return (
    <button
      type="button"
      aria-pressed={on}
      onClick={choose}
      className={`-ml-px border border-line-strong px-2.5 py-1 whitespace-nowrap first-of-type:ml-0 first-of-type:rounded-l last-of-type:rounded-r ${on ? "bg-accent-ground font-medium text-accent" : "bg-raised text-text hover:bg-hover"}`}
    >
      {children}
    </button>
  );
}

interface ViewButtonsProps {
  added: number;
  order: number;
  onTidy: () => void;
  onFit: () => void;
}

/** Nothing is laid out anew by itself; when most of it came later, the button says so. */
export function ViewButtons({ added, order, onTidy, onFit }: ViewButtonsProps) {
  const crowded = added * 2 > order;
  return (
    <div className="flex flex-wrap gap-2">
      <Button onClick={onFit} title="Show all of it">
        Fit
      </Button>
      <Button
        kind={crowded ? "primary" : "plain"}
        onClick={onTidy}
        title={added ? `${many(added, "node")} came since it was laid out` : "Lay it out anew"}
      >
        Tidy{crowded ? ` (${many(added, "new node")})` : ""}
      </Button>
    </div>
  );
}
