/** Why a form was not taken, and the field that is wrong. Pure. */
import type { Problem } from "../../../api/problem";
import { labelOf, type SettingField } from "./fields";

export const SEEDS = "seeds";
export const PROFILE = "profile";
export const NAME = "name";
export const LABELS = "labels";
const SETTING = "settings.";

/** The name of a setting's control, as the API names its field. */
export const placeOf = (setting: string) => `${SETTING}${setting}`;
export const settingAt = (place: string) => (place.startsWith(SETTING) ? place.slice(SETTING.length) : null);

export interface Refusal {
  place: string | null; // the name of a control; null: none of them
  message: string;
  error: Problem | null; // null: the server was not asked
}

/** What is certain before the server is asked. */
export function firstWrong(seeds: readonly string[], fields: readonly SettingField[]): Refusal | null {
  if (seeds.length === 0) return { place: SEEDS, message: "give at least one URL or domain", error: null };
  const wrong = fields.find((field) => field.problem);
  return wrong ? { place: placeOf(wrong.setting.name), message: wrong.problem, error: null } : null;
}

/** `seeds.3` is of the seeds; what no control is for stands on top. */
export function refusalOf(error: Problem, fields: readonly SettingField[]): Refusal {
  const field = error.field ?? "";
  const names = [SEEDS, PROFILE, NAME, LABELS, ...fields.map(({ setting }) => placeOf(setting.name))];
  const place = names.find((name) => field === name || field.startsWith(`${name}.`)) ?? null;
  return { place, message: inLabels(error.message, fields), error };
}

/** The API names its fields; whoever fills in the form knows their labels. Longer names first: one may begin another. */
function inLabels(message: string, fields: readonly SettingField[]): string {
  const names = fields.map(({ setting }) => setting.name).sort((one, other) => other.length - one.length);
  return names.reduce((text, name) => text.replaceAll(placeOf(name), labelOf(name)), message);
}
