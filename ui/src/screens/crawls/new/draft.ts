/** The form as the address keeps it: ?seed=..&profile=..&set.polite.floor_ms=2000. Pure. */
import type { Settings } from "../../../api/types";
import { DEFAULT_PROFILE, fieldsOf, isImplied } from "./fields";
import { seedsOf } from "./seeds";

export interface Draft {
  seeds: string; // as typed
  name: string;
  labels: string; // with blanks between
  profile: string;
  texts: Readonly<Record<string, string>>; // of the settings that were touched, as typed
  advanced: boolean; // its settings are shown
  find: string; // among them
}

const SETTING = "set.";
const CHARS_MAX = 4000; // servers and mail programs cut longer addresses

/** Settings left out of the address: they often hold a password, and addresses are kept in histories and logs. */
const SECRET: ReadonlySet<string> = new Set(["fetch.headers", "fetch.proxy"]);

export const isSecret = (name: string) => SECRET.has(name);

export function draftOf(search: URLSearchParams): Draft {
  const texts = [...search]
    .filter(([name]) => name.startsWith(SETTING))
    .map(([name, text]) => [name.slice(SETTING.length), text] as const)
    .filter(([name]) => !isSecret(name));
  return {
    seeds: search.getAll("seed").join("\n"),
    name: search.get("name") ?? "",
    labels: search.getAll("label").join(" "),
    profile: search.get("profile") ?? DEFAULT_PROFILE,
    texts: Object.fromEntries(texts),
    advanced: search.get("advanced") === "1",
    find: search.get("find") ?? "",
  };
}

/** Labels as somebody types them: with blanks or commas between. */
export function labelsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

export function seedsFit(seeds: readonly string[]): boolean {
  return new URLSearchParams(seeds.map((seed) => ["seed", seed])).toString().length <= CHARS_MAX;
}

/** What differs from the profile; what this server does not know is kept as it came. */
export function searchOf(draft: Draft, settings: Settings): URLSearchParams {
  const search = new URLSearchParams();
  const seeds = seedsOf(draft.seeds);
  if (seedsFit(seeds)) for (const seed of seeds) search.append("seed", seed);
  if (draft.name.trim()) search.set("name", draft.name.trim());
  for (const label of labelsOf(draft.labels)) search.append("label", label);
  if (draft.profile !== DEFAULT_PROFILE) search.set("profile", draft.profile);
  const fields = fieldsOf(settings, draft.profile, draft.texts);
  const usual = fields.filter(({ setting, changed }) => !changed && !isImplied(setting.name, fields));
  const unchanged = new Set(usual.map((field) => field.setting.name));
  for (const [name, text] of Object.entries(draft.texts)) {
    const kept = !unchanged.has(name) && !isSecret(name) && text.length <= CHARS_MAX;
    if (kept) search.set(`${SETTING}${name}`, text);
  }
  if (draft.advanced) search.set("advanced", "1");
  if (draft.find) search.set("find", draft.find);
  return search;
}

/** Settings that this server does not know: of another version, or mistyped. */
export function unknownNames(draft: Draft, settings: Settings): string[] {
  const known = new Set(settings.crawl.map((setting) => setting.name));
  return Object.keys(draft.texts).filter((name) => !known.has(name));
}
