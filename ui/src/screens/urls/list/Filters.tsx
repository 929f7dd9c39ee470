import { useId } from "react";
import { Button } from "../../../look/Button";
import { StateWord } from "../../../look/Word";
import { count, words } from "../../../words/format";
import { STATES } from "../../../words/states";
import { REASONS, reasonWords } from "../reasons";
import { Menu } from "./Menu";
import { type Filter, isFiltered, LISTED, type ListedKind, NO_FILTER } from "./query";
import { Typed } from "./Typed";

interface Props {
  filter: Filter;
  counts?: Record<string, number>; // of the crawl, by state
  kinds?: boolean; // with the choice between pages and what they need
  plain?: boolean; // without state and reason: the view has its own
  wrong?: string | null; // the field that the API refused
  onChange: (change: Partial<Filter>, typed?: boolean) => void;
}

/** Whatever is typed or chosen goes into the address. */
export function Filters({ filter, counts = {}, kinds = false, plain = false, wrong, onChange }: Props) {
  const typed = (change: Partial<Filter>) => onChange(change, true);
  const invalid = (field: string) => (wrong === field ? true : undefined);
  return (
    <search aria-label="Filters" className="flex flex-wrap items-center gap-2">
      <div className="min-w-48 flex-1 basis-full sm:basis-64">
        <Typed
          label="Part of the URL"
          data-filter
          value={filter.text}
          maxLength={2048}
          aria-invalid={invalid("text")}
          onCommit={(text) => typed({ text })}
        />
      </div>
      {kinds && <KindFilter kind={filter.kind} onChange={(kind) => onChange({ kind })} />}
      {!plain && <StateFilter chosen={filter.states} counts={counts} onChange={(states) => onChange({ states })} />}
      <div className="w-44">
        <Typed
          label="Host"
          value={filter.host}
          maxLength={255}
          aria-invalid={invalid("host")}
          onCommit={(host) => typed({ host })}
        />
      </div>
      <NumberFilter
        label="Status"
        value={filter.status}
        aria-invalid={invalid("status")}
        onNumber={(status) => typed({ status })}
      />
      <NumberFilter
        label="Depth"
        value={filter.depth}
        aria-invalid={invalid("depth")}
        onNumber={(depth) => typed({ depth })}
      />
      {!plain && <ReasonFilter reason={filter.reason} onChange={(reason) => onChange({ reason })} />}
      {isFiltered(plain ? { ...filter, states: [] } : filter) && (
        <Button kind="quiet" onClick={() => onChange(NO_FILTER)}>
          Clear filters
        </Button>
      )}
    </search>
  );
}

interface NumberProps {
  label: string;
  value: number | null;
  "aria-invalid": true | undefined;
  onNumber: (value: number | null) => void;
}

function NumberFilter({ value, onNumber, ...rest }: NumberProps) {
  return (
    <div className="w-20">
      <Typed
        {...rest}
        digits
        maxLength={9}
        value={value === null ? "" : String(value)}
        onCommit={(text) => onNumber(text ? Number(text) : null)}
      />
    </div>
  );
}

const KIND_WORDS: Readonly<Record<ListedKind, string>> = {
  page: "Pages",
  requisite: "Requisites",
  sitemap: "Sitemaps",
};

function KindFilter({ kind, onChange }: { kind: ListedKind; onChange: (kind: ListedKind) => void }) {
  const id = useId();
  return (
    <div className="w-32">
      <label htmlFor={id} className="sr-only">
        Kind
      </label>
      <select
        id={id}
        className="input"
        value={kind}
        onChange={(event) => onChange(LISTED.find((known) => known === event.target.value) ?? "page")}
      >
        {LISTED.map((known) => (
          <option key={known} value={known}>
            {KIND_WORDS[known]}
          </option>
        ))}
      </select>
    </div>
  );
}

function ReasonFilter({ reason, onChange }: { reason: string; onChange: (reason: string) => void }) {
  const id = useId();
  return (
    <div className="w-44">
      <label htmlFor={id} className="sr-only">
        Reason
      </label>
      <select id={id} className="input" value={reason} onChange={(event) => onChange(event.target.value)}>
        <option value="">Any reason</option>
        {reason && !Object.hasOwn(REASONS, reason) && <option value={reason}>{words(reason)}</option>}
        {Object.keys(REASONS).map((known) => (
          <option key={known} value={known}>
            {reasonWords(known)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface StateProps {
  chosen: Filter["states"];
  counts: Record<string, number>;
  onChange: (states: Filter["states"]) => void;
}

function titleOf(chosen: Filter["states"]): string {
  const [first] = chosen;
  if (!first) return "Any state";
  return chosen.length === 1 ? words(first) : `${chosen.length} states`;
}

function StateFilter({ chosen, counts, onChange }: StateProps) {
  return (
    <Menu text={titleOf(chosen)}>
      <fieldset className="flex flex-col gap-0.5">
        <legend className="sr-only">States</legend>
        {STATES.map((state) => (
          <label key={state} className="flex cursor-pointer items-center gap-2 rounded px-1 py-0.5">
            <input
              type="checkbox"
              checked={chosen.includes(state)}
              onChange={(event) =>
                onChange(STATES.filter((one) => (one === state ? event.target.checked : chosen.includes(one))))
              }
            />
            <StateWord state={state} />
            <span className="number ml-auto pl-4 text-dim">{count(counts[state] ?? 0)}</span>
          </label>
        ))}
      </fieldset>
    </Menu>
  );
}
