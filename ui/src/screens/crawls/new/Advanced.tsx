import type { ReactNode } from "react";
import { count, many } from "../../../words/format";
import { grouped, groupTitle, matching, type SettingField } from "./fields";
import { SettingLine } from "./SettingLine";
import type { CrawlForm } from "./useCrawlForm";

const changedOf = (fields: readonly SettingField[]) => fields.filter((field) => field.changed).length;

/** All the other settings, by group. A closed group is not rendered. */
export function Advanced({ form }: { form: CrawlForm }) {
  const fields = form.order.advanced;
  const { advanced, find } = form.draft;
  const shown = matching(fields, find);
  return (
    <Disclosure
      open={advanced}
      onToggle={() => form.change({ advanced: !advanced })}
      className="rounded border border-line bg-panel"
      title={<h2 className="inline font-medium">Advanced</h2>}
      note={noteOf("more setting", fields)}
    >
      <Find form={form} shown={shown.length} all={fields.length} />
      {grouped(shown).map(([group, members]) => (
        <Disclosure
          key={group}
          // A search opens the groups that have a match.
          open={find !== "" || form.opened.has(group)}
          onToggle={() => form.toggle(group)}
          className="border-t border-line"
          title={<h3 className="inline font-medium">{groupTitle(group)}</h3>}
          note={noteOf("setting", members)}
        >
          <div className="px-3 pt-1 pb-4">
            <SettingGrid>
              {members.map((field) => (
                <SettingLine key={field.setting.name} field={field} form={form} />
              ))}
            </SettingGrid>
          </div>
        </Disclosure>
      ))}
      {shown.length === 0 && <p className="px-3 pb-3">None of these is about “{find}”.</p>}
    </Disclosure>
  );
}

export function SettingGrid({ children }: { children: ReactNode }) {
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(min(17rem,100%),1fr))] gap-x-6 gap-y-4">{children}</div>
  );
}

function noteOf(what: string, fields: readonly SettingField[]): string {
  const changed = changedOf(fields);
  return `${many(fields.length, what)}${changed ? `, ${count(changed)} changed` : ""}`;
}

function Find({ form, shown, all }: { form: CrawlForm; shown: number; all: number }) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2">
      <input
        type="search"
        data-filter
        aria-label="Filter the advanced settings"
        placeholder="Filter by name or help"
        value={form.draft.find}
        onChange={(event) => form.change({ find: event.target.value })}
        // Enter would start the crawl.
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        className="input max-w-72"
      />
      <span role="status" className="text-dim tabular-nums">
        {form.draft.find !== "" && `${count(shown)} of ${count(all)}`}
      </span>
    </div>
  );
}

interface DisclosureProps {
  open: boolean;
  onToggle: () => void;
  className: string;
  title: ReactNode;
  note: string;
  children: ReactNode;
}

/** The browser's <details>, opened and closed by us: a field that is wrong must be seen. */
function Disclosure({ open, onToggle, className, title, note, children }: DisclosureProps) {
  const toggled = (event: { preventDefault: () => void }) => {
    event.preventDefault();
    onToggle();
  };
  return (
    <details open={open} className={className}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is interactive */}
      <summary onClick={toggled} className="px-3 py-2 hover:bg-hover">
        {title} <span className="ml-1 text-dim">{note}</span>
      </summary>
      {open && children}
    </details>
  );
}
