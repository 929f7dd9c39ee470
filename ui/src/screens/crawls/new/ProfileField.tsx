import type { Settings } from "../../../api/types";
import { Field } from "../../../look/Field";
import { changesInWords } from "./fields";
import { PROFILE } from "./refusal";
import type { CrawlForm } from "./useCrawlForm";

export function ProfileField({ form, profiles }: { form: CrawlForm; profiles: Settings["profiles"] }) {
  const { draft, refusal } = form;
  const known = Object.hasOwn(profiles, draft.profile);
  return (
    <Field
      label="Profile"
      help={helpOf(draft.profile, profiles)}
      error={refusal?.place === PROFILE ? refusal.message : ""}
    >
      {(attributes) => (
        <select
          {...attributes}
          name={PROFILE}
          value={draft.profile}
          onChange={(event) => form.change({ profile: event.target.value }, PROFILE)}
          className="input md:max-w-72"
        >
          {!known && <option value={draft.profile}>{draft.profile}</option>}
          {Object.keys(profiles).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function helpOf(profile: string, profiles: Settings["profiles"]): string {
  if (!Object.hasOwn(profiles, profile)) return "This server has no such profile: choose another.";
  const changes = changesInWords(profiles[profile] ?? {});
  return changes ? `Against the defaults it changes ${changes}.` : "All settings as they are by default.";
}
