import { useState } from "react";
import { Field } from "../../../look/Field";
import { Control } from "./Control";
import { isSecret } from "./draft";
import { brief, labelOf, type SettingField } from "./fields";
import { placeOf } from "./refusal";
import type { CrawlForm } from "./useCrawlForm";

interface Props {
  field: SettingField;
  form: CrawlForm;
}

const ADMIN_ONLY = "Only a token with access admin may set it.";
const NOT_KEPT = "It may hold a secret, so the address does not keep it.";

/** One setting with its help, what is wrong with it, and the way back to what the profile gives. */
export function SettingLine({ field, form }: Props) {
  const { setting, problem, changed } = field;
  // While somebody types, half a number is no error yet; what came with the address is.
  const [left, setLeft] = useState(problem !== "");
  const { refusal, admin } = form;
  const refused = refusal?.place === placeOf(setting.name) ? refusal.message : "";
  const disabled = setting.admin && !admin;
  return (
    <div className="relative min-w-0">
      <Field label={labelOf(setting.name)} help={helpOf(field, disabled)} error={refused || (left ? problem : "")}>
        {(attributes) => (
          <Control
            attributes={attributes}
            field={field}
            disabled={disabled}
            onText={(text) => form.setText(setting.name, text)}
            onLeft={setLeft}
          />
        )}
      </Field>
      {changed && (
        <div className="absolute top-0 right-0 flex items-center gap-2 bg-panel pl-2">
          <span className="text-accent">changed</span>
          <ResetButton field={field} onReset={() => form.reset(setting.name)} />
        </div>
      )}
    </div>
  );
}

function helpOf({ setting }: SettingField, disabled: boolean): string {
  const named = labelOf(setting.name) === setting.name ? setting.help : `${setting.help} (${setting.name})`;
  return [named, disabled && ADMIN_ONLY, isSecret(setting.name) && NOT_KEPT].filter(Boolean).join(" · ");
}

export function ResetButton({ field, onReset }: { field: SettingField; onReset: () => void }) {
  const { name } = field.setting;
  const back = brief(name, field.base);
  return (
    <button
      type="button"
      onClick={onReset}
      aria-label={`Reset ${name} to ${back}`}
      title={`the profile has: ${back}`}
      className="rounded border border-line-strong px-1.5 hover:bg-hover"
    >
      Reset
    </button>
  );
}
