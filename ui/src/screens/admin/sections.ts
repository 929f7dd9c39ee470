/** The parts of the admin screen, as the address has them: `?section=tokens`; the first is the default. */
export const SECTIONS = [
  { key: "rules", text: "Block rules", json: "/api/v1/blocks" },
  { key: "rate", text: "Global rate", json: "/api/v1/floor" },
  { key: "errors", text: "Recent errors", json: "/api/v1/errors?limit=200" },
  { key: "storage", text: "Storage", json: "/api/v1/stats" },
  { key: "tokens", text: "Tokens", json: "/api/v1/tokens" },
  { key: "settings", text: "Settings", json: "/api/v1/settings" },
] as const;

export type Section = (typeof SECTIONS)[number];

/** An unknown word shows the first section rather than nothing. */
export function sectionOf(search: URLSearchParams): Section {
  return SECTIONS.find(({ key }) => key === search.get("section")) ?? SECTIONS[0];
}

/** The address of a section, without the filters of the one before. */
export function addressOf(section: Section): string {
  return section === SECTIONS[0] ? "/admin" : `/admin?section=${section.key}`;
}
