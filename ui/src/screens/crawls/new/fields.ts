/** The settings of the form: what the profile gives, what was changed, in which order they stand. Pure. */
import type { CrawlSetting, Settings } from "../../../api/types";
import { count, duration, many, words } from "../../../words/format";
import { type Kind, kindOf, readingOf, textOf } from "./kinds";

export const DEFAULT_PROFILE = "default";

export interface SettingField {
  setting: CrawlSetting;
  kind: Kind;
  base: unknown; // what the profile gives
  text: string; // what the control shows
  value: unknown; // what that means; undefined where it means nothing
  problem: string;
  changed: boolean;
}

type Texts = Readonly<Record<string, string>>;

export function baseOf({ profiles }: Settings, profile: string, { name, default: plain }: CrawlSetting): unknown {
  const changes = (Object.hasOwn(profiles, profile) && profiles[profile]) || {};
  return Object.hasOwn(changes, name) ? changes[name] : plain;
}

export function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function fieldOf(setting: CrawlSetting, base: unknown, text: string | undefined): SettingField {
  const kind = kindOf(setting.type, setting.name);
  if (text === undefined) {
    return { setting, kind, base, text: textOf(kind, base), value: base, problem: "", changed: false };
  }
  const { value, problem } = readingOf(kind, text);
  return { setting, kind, base, text, value, problem, changed: problem !== "" || !same(value, base) };
}

export const FLOOR = "polite.floor_ms";
export const ADAPTIVE = "polite.adaptive";

/** Whether a setting follows from another one that was changed, unless it has a text of its own. */
export function isImplied(name: string, fields: readonly SettingField[]): boolean {
  return name === ADAPTIVE && fields.some(({ setting, changed }) => setting.name === FLOOR && changed);
}

export function fieldsOf(settings: Settings, profile: string, texts: Texts): SettingField[] {
  const fields = settings.crawl.map((setting) =>
    fieldOf(
      setting,
      baseOf(settings, profile, setting),
      Object.hasOwn(texts, setting.name) ? texts[setting.name] : undefined,
    ),
  );
  // A delay that somebody gives is the whole delay, as `--delay` is: no adaptive part, unless that was set, too.
  if (Object.hasOwn(texts, ADAPTIVE) || !isImplied(ADAPTIVE, fields)) return fields;
  return fields.map((field) => (field.setting.name === ADAPTIVE ? fieldOf(field.setting, field.base, "false") : field));
}

/** What is sent: only what differs from the profile. */
export function differing(fields: readonly SettingField[]): Record<string, unknown> {
  const sent = fields.filter((field) => field.changed && !field.problem);
  return Object.fromEntries(sent.map((field) => [field.setting.name, field.value]));
}

// --- order

const COMMON: Record<string, string> = {
  "scope.mode": "Scope",
  "scope.hosts": "Hosts of the scope",
  "scope.max_depth": "Depth",
  "limits.max_pages": "Pages at most",
  "polite.floor_ms": "Delay between requests to a host",
  "robots.mode": "robots.txt",
  "scope.include": "Include",
  "scope.exclude": "Exclude",
  "scope.requisites": "What pages need",
  "sitemaps.mode": "Sitemaps",
  "fetch.allow_private": "Private addresses",
};

const GROUPS: Record<string, string> = {
  norm: "Spellings of a URL",
  scope: "Scope",
  limits: "Limits",
  polite: "Politeness",
  retry: "Retries",
  host: "Hosts that fail",
  robots: "Robots",
  sitemaps: "Sitemaps",
  redirects: "Redirects",
  dns: "Names and addresses",
  content: "Content",
  fetch: "Requests",
};

export const groupOf = (name: string) => name.split(".", 1)[0] ?? name;
export const groupTitle = (group: string) => GROUPS[group] ?? words(group);
export const labelOf = (name: string) => COMMON[name] ?? name;

export interface Order {
  common: SettingField[];
  advanced: SettingField[];
}

/** Hosts are asked for where the scope is a list of them; private addresses where they may be set at all. */
export function ordered(fields: readonly SettingField[], admin: boolean): Order {
  const listed = fields.some(({ setting, value }) => setting.name === "scope.mode" && value === "list");
  const isCommon = ({ setting: { name, admin: guarded } }: SettingField) =>
    name in COMMON && (name !== "scope.hosts" || listed) && (!guarded || admin);
  const places = Object.keys(COMMON);
  const common = fields.filter(isCommon);
  common.sort((one, other) => places.indexOf(one.setting.name) - places.indexOf(other.setting.name));
  return { common, advanced: fields.filter((field) => !isCommon(field)) };
}

/** Whether every word of the search is in the name, the help or the title of the group. */
export function matching(fields: readonly SettingField[], find: string): SettingField[] {
  const wanted = find.toLowerCase().split(/\s+/).filter(Boolean);
  return fields.filter(({ setting: { name, help } }) => {
    const text = `${name} ${words(name)} ${help} ${groupTitle(groupOf(name))}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export function grouped(fields: readonly SettingField[]): [group: string, fields: SettingField[]][] {
  const groups = new Map<string, SettingField[]>();
  for (const field of fields) {
    const group = groupOf(field.setting.name);
    groups.set(group, [...(groups.get(group) ?? []), field]);
  }
  return [...groups];
}

// --- words

const BRIEF_CHARS = 60;

/** A value in a few words; times as people read them. */
export function brief(name: string, value: unknown): string {
  if (value === undefined) return "not readable";
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return name.endsWith("_ms") ? duration(value) : plainNumber(value);
  if (Array.isArray(value)) return listInWords(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === "" ? "empty" : shortened(text);
}

const plainNumber = (value: number) => (Number.isInteger(value) ? count(value) : String(value));
const shortened = (text: string) => (text.length > BRIEF_CHARS ? `${text.slice(0, BRIEF_CHARS)}…` : text);

function listInWords(values: readonly unknown[]): string {
  if (values.length === 0) return "none";
  const text = values.map(String).join(", ");
  return text.length > BRIEF_CHARS ? many(values.length, "entry", "entries") : text;
}

/** "scope: mode any, max depth 2; robots: mode ignore" */
export function changesInWords(changes: Readonly<Record<string, unknown>>): string {
  const groups = new Map<string, string[]>();
  for (const [name, value] of Object.entries(changes)) {
    const said = `${words(name.slice(groupOf(name).length + 1).replace(/_ms$/, ""))} ${words(brief(name, value))}`;
    groups.set(groupOf(name), [...(groups.get(groupOf(name)) ?? []), said]);
  }
  return [...groups].map(([group, said]) => `${groupTitle(group)}: ${said.join(", ")}`).join("; ");
}
