/** The form of a new crawl as a copy of another one. Pure. */
import type { CrawlDetail, Settings } from "../../../api/types";
import { ownSettings } from "../../crawl/differing";
import { type Draft, isSecret } from "./draft";
import { ADAPTIVE, FLOOR } from "./fields";
import { kindOf, textOf } from "./kinds";

function ownOf(detail: CrawlDetail, { crawl, profiles }: Settings) {
  return ownSettings(detail.settings, crawl, profiles[detail.profile] ?? {});
}

/** Its seeds, its profile, and the settings in which it differs from that; without those that may hold passwords. */
export function copyOf(detail: CrawlDetail, settings: Settings): Draft {
  const types = new Map(settings.crawl.map(({ name, type }) => [name, type]));
  const kept = ownOf(detail, settings).filter(({ name }) => !isSecret(name));
  const textFor = (name: string, value: unknown) => [name, textOf(kindOf(types.get(name) ?? {}, name), value)];
  const texts = kept.map(({ name, value }) => textFor(name, value));
  // The form would take a delay for the whole of it.
  const { adaptive } = (detail.settings.polite ?? {}) as { adaptive?: boolean };
  if (types.has(ADAPTIVE) && adaptive !== undefined && kept.some(({ name }) => name === FLOOR)) {
    texts.push(textFor(ADAPTIVE, adaptive));
  }
  return {
    seeds: detail.seeds.join("\n"),
    name: detail.name,
    labels: detail.labels.join(" "),
    profile: detail.profile,
    texts: Object.fromEntries(texts),
    advanced: false,
    find: "",
  };
}

/** The names of settings that the crawl has and a copy has not. */
export function leavesOut({ settings }: CrawlDetail): string[] {
  const fetch = (settings.fetch ?? {}) as { headers?: readonly unknown[]; proxy?: string | null };
  return [...(fetch.headers?.length ? ["its headers"] : []), ...(fetch.proxy ? ["its proxy"] : [])];
}

/** What a link to the form hands over; null: nothing of the kind. */
export function handedOver(state: unknown): Draft | null {
  const draft = (state as { draft?: Draft } | null)?.draft;
  return draft && typeof draft.seeds === "string" && typeof draft.profile === "string" ? draft : null;
}
