import type { CrawlSetting } from "../../api/types";
import { count, duration } from "../../words/format";

export interface OwnSetting {
  name: string;
  value: unknown;
  usual: unknown; // what its profile would give
  help: string;
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** The settings in which a crawl differs from its profile. `settings`: the whole record, groups of names. */
export function ownSettings(
  settings: Readonly<Record<string, unknown>>,
  known: readonly CrawlSetting[],
  profile: Readonly<Record<string, unknown>>,
): OwnSetting[] {
  const own: OwnSetting[] = [];
  for (const setting of known) {
    const [group = "", field = ""] = setting.name.split(".");
    const values = settings[group] as Record<string, unknown> | undefined;
    const usual = setting.name in profile ? profile[setting.name] : setting.default;
    // A setting that the record does not have is younger than the crawl.
    if (values && field in values && !same(values[field], usual)) {
      own.push({ name: setting.name, value: values[field], usual, help: setting.help });
    }
  }
  return own;
}

/** A value as people read it. */
export function valueText(name: string, value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number")
    return name.endsWith("_ms") ? duration(value) : Number.isInteger(value) ? count(value) : String(value);
  if (Array.isArray(value)) return value.map(itemText).join(", ") || "none";
  return typeof value === "string" ? value || "none" : JSON.stringify(value);
}

/** Headers are pairs. */
function itemText(item: unknown): string {
  return Array.isArray(item) ? item.join(": ") : String(item);
}
