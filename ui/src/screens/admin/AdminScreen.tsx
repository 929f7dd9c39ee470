import type { ComponentType } from "react";
import { Link, useSearchParams } from "react-router";
import { Page } from "../../look/Page";
import { BlockRules } from "./BlockRules";
import { GlobalRate } from "./GlobalRate";
import { RecentErrors } from "./RecentErrors";
import { ServerSettings } from "./ServerSettings";
import { Sizes } from "./Sizes";
import { addressOf, SECTIONS, type Section, sectionOf } from "./sections";
import { Tokens } from "./Tokens";

const VIEWS: Record<Section["key"], ComponentType> = {
  rules: BlockRules,
  rate: GlobalRate,
  errors: RecentErrors,
  storage: Sizes,
  tokens: Tokens,
  settings: ServerSettings,
};

export function AdminScreen() {
  const [search] = useSearchParams();
  const section = sectionOf(search);
  const View = VIEWS[section.key];
  return (
    <Page title="Admin" json={section.json}>
      <SectionTabs now={section} />
      <View />
    </Page>
  );
}

function SectionTabs({ now }: { now: Section }) {
  return (
    <nav aria-label="Sections of admin" className="-mx-4 flex gap-1 overflow-x-auto border-b border-line px-4">
      {SECTIONS.map((section) => (
        <Link
          key={section.key}
          to={addressOf(section)}
          aria-current={section === now ? "page" : undefined}
          className={`-mb-px border-b-2 px-3 py-2 whitespace-nowrap ${section === now ? "border-accent font-medium text-text" : "border-transparent text-dim hover:text-text"}`}
        >
          {section.text}
        </Link>
      ))}
    </nav>
  );
}
