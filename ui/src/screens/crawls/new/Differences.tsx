import { Button } from "../../../look/Button";
import { Panel } from "../../../look/Panel";
import { many } from "../../../words/format";
import { brief, type SettingField } from "./fields";
import { ResetButton } from "./SettingLine";
import type { CrawlForm } from "./useCrawlForm";

/** What will be sent, in few words, beside the button that sends it. */
export function Differences({ form, may }: { form: CrawlForm; may: boolean }) {
  const { draft, seeds, fields, busy } = form;
  const changed = fields.filter((field) => field.changed);
  return (
    <Panel title="This crawl">
      <div className="flex flex-col gap-3">
        <p>
          {many(seeds.length, "seed")}, profile <span className="font-mono">{draft.profile}</span>
          {changed.length ? `, ${many(changed.length, "setting")} changed:` : ", nothing changed."}
        </p>
        {changed.length > 0 && (
          <ul className="flex max-h-72 flex-col gap-2 overflow-y-auto">
            {changed.map((field) => (
              <Difference key={field.setting.name} field={field} onReset={() => form.reset(field.setting.name)} />
            ))}
          </ul>
        )}
        {ignoresRobots(fields) && (
          <p className="rounded border border-warn bg-warn-ground px-2 py-1 text-warn">
            robots.txt is ignored: only for sites that are yours or that allow it.
          </p>
        )}
        <Button kind="primary" type="submit" busy={busy} disabled={!may} title="Ctrl+Enter" className="justify-center">
          {busy ? "Starting" : "Start crawl"}
        </Button>
      </div>
    </Panel>
  );
}

function Difference({ field, onReset }: { field: SettingField; onReset: () => void }) {
  const { name } = field.setting;
  return (
    <li className="flex items-start justify-between gap-2">
      <div className="min-w-0">
        <div className="font-mono break-all">{name}</div>
        <div className="break-words text-dim">
          {brief(name, field.base)} <span aria-hidden>→</span> <span className="sr-only">becomes</span>{" "}
          {field.problem ? (
            <span className="text-danger">{field.problem}</span>
          ) : (
            <span className="text-text">{brief(name, field.value)}</span>
          )}
        </div>
      </div>
      <ResetButton field={field} onReset={onReset} />
    </li>
  );
}

function ignoresRobots(fields: readonly SettingField[]): boolean {
  return fields.some(({ setting, value }) => setting.name === "robots.mode" && value === "ignore");
}
