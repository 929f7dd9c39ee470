import { Field } from "../../../look/Field";
import { LABELS, NAME } from "./refusal";
import type { CrawlForm } from "./useCrawlForm";

export const NAME_CHARS_MAX = 100;
export const NAME_HELP = "What people call the crawl; without one it shows its first seed.";
export const LABELS_HELP = "What it is found by: words like nightly, or key=value like team=docs, with blanks between.";

export function NamingFields({ form }: { form: CrawlForm }) {
  const { draft, refusal } = form;
  const wrong = (place: string) => (refusal?.place === place ? refusal.message : "");
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Name" help={NAME_HELP} error={wrong(NAME)}>
        {(attributes) => (
          <input
            {...attributes}
            name={NAME}
            value={draft.name}
            maxLength={NAME_CHARS_MAX}
            autoComplete="off"
            onChange={(event) => form.change({ name: event.target.value }, NAME)}
            className="input"
          />
        )}
      </Field>
      <Field label="Labels" help={LABELS_HELP} error={wrong(LABELS)}>
        {(attributes) => (
          <input
            {...attributes}
            name={LABELS}
            value={draft.labels}
            autoComplete="off"
            spellCheck={false}
            autoCapitalize="none"
            onChange={(event) => form.change({ labels: event.target.value }, LABELS)}
            className="input font-mono"
          />
        )}
      </Field>
    </div>
  );
}
