import type { FieldAttributes } from "../../../look/Field";
import { bytes, duration, words } from "../../../words/format";
import type { SettingField } from "./fields";
import { placeOf } from "./refusal";

interface Props {
  attributes: FieldAttributes;
  field: SettingField;
  disabled: boolean;
  onText: (text: string) => void;
  onLeft: (left: boolean) => void;
}

interface Shared extends FieldAttributes {
  name: string;
  disabled: boolean;
  onFocus: () => void;
  onBlur: () => void;
}

const ROWS_MIN = 2;
const ROWS_MAX = 8;

/** The control that fits the kind of the setting. */
export function Control({ attributes, field, disabled, onText, onLeft }: Props) {
  const { kind, text } = field;
  const moves = { onFocus: () => onLeft(false), onBlur: () => onLeft(true) };
  const shared: Shared = { ...attributes, ...moves, name: placeOf(field.setting.name), disabled };
  switch (kind.is) {
    case "choice":
      return <Choice shared={shared} options={kind.options} nullable={kind.nullable} text={text} onText={onText} />;
    case "switch":
      return <Switch shared={shared} text={text} onText={onText} />;
    case "number":
      return <NumberInput shared={shared} field={field} nullable={kind.nullable} onText={onText} />;
    case "line":
      return (
        <input
          {...shared}
          value={text}
          placeholder={kind.nullable ? "none" : undefined}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onText(event.target.value)}
          className="input font-mono"
        />
      );
  }
  return (
    <textarea
      {...shared}
      value={text}
      rows={Math.min(Math.max(text.split("\n").length, ROWS_MIN), ROWS_MAX)}
      placeholder={PLACEHOLDERS[kind.is]}
      spellCheck={false}
      onChange={(event) => onText(event.target.value)}
      className="input font-mono"
    />
  );
}

const PLACEHOLDERS = { lines: "one per line", pairs: "Name: value, one per line", json: "JSON" };

interface ChoiceProps {
  shared: Shared;
  options: readonly string[];
  nullable: boolean;
  text: string;
  onText: (text: string) => void;
}

function Choice({ shared, options, nullable, text, onText }: ChoiceProps) {
  // An address may hold what this server does not have: it is shown, not silently replaced.
  const odd = text !== "" && !options.includes(text);
  return (
    <select {...shared} value={text} onChange={(event) => onText(event.target.value)} className="input">
      {nullable && <option value="">none</option>}
      {odd && <option value={text}>{text}</option>}
      {options.map((option) => (
        <option key={option} value={option}>
          {words(option)}
        </option>
      ))}
    </select>
  );
}

function Switch({ shared, text, onText }: { shared: Shared; text: string; onText: (text: string) => void }) {
  const on = text === "true";
  return (
    <div className="flex h-[1.875rem] items-center gap-2">
      <input
        {...shared}
        type="checkbox"
        checked={on}
        onChange={(event) => onText(String(event.target.checked))}
        className="size-4 accent-accent"
      />
      <span aria-hidden>{on ? "yes" : "no"}</span>
    </div>
  );
}

interface NumberProps {
  shared: Shared;
  field: SettingField;
  nullable: boolean;
  onText: (text: string) => void;
}

/** Text, not type=number: a browser hides what it cannot read as a number, and a time may be written as "2s". */
function NumberInput({ shared, field, nullable, onText }: NumberProps) {
  return (
    <div className="flex items-center gap-2">
      <input
        {...shared}
        value={field.text}
        inputMode={field.setting.name.endsWith("_ms") ? "text" : "decimal"}
        placeholder={nullable ? "none" : undefined}
        autoComplete="off"
        onChange={(event) => onText(event.target.value)}
        className="input number w-32!"
      />
      <span className="text-dim">{spoken(field.setting.name, field.value)}</span>
    </div>
  );
}

/** The number in its unit, as people say it. */
function spoken(name: string, value: unknown): string {
  if (typeof value !== "number") return "";
  if (name.endsWith("_ms")) return value < 1000 ? "ms" : `ms = ${duration(value)}`;
  if (name.endsWith("_seconds")) return value < 120 ? "s" : `s = ${duration(value * 1000)}`;
  return name.includes("bytes") ? bytes(value) : "";
}
