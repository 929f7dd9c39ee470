import { type FormEvent, type KeyboardEvent, useEffect, useRef } from "react";
import { useMay } from "../../../api/me";
import type { Settings } from "../../../api/types";
import { Panel } from "../../../look/Panel";
import { Failure } from "../../../look/States";
import { Advanced, SettingGrid } from "./Advanced";
import { Differences } from "./Differences";
import { unknownNames } from "./draft";
import { HoldingDelay } from "./HoldingDelay";
import { NamingFields } from "./NamingFields";
import { ProfileField } from "./ProfileField";
import type { Refusal } from "./refusal";
import { SeedsField } from "./SeedsField";
import { SettingLine } from "./SettingLine";
import { useCrawlForm } from "./useCrawlForm";

export function CrawlFormView({ settings }: { settings: Settings }) {
  const form = useCrawlForm(settings);
  const may = useMay("write");
  const { element, top } = useFocusOn(form.refusal);
  const { common } = form.order;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (may && !form.busy) form.start();
  };
  const pressed = (event: KeyboardEvent<HTMLFormElement>) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // some inputs would send it, too
    event.currentTarget.requestSubmit();
  };
  return (
    <form
      ref={element}
      noValidate
      aria-label="New crawl"
      onSubmit={submit}
      onKeyDown={pressed}
      className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]"
    >
      <div className="flex min-w-0 flex-col gap-4">
        <div ref={top} tabIndex={-1} className="empty:hidden">
          {form.refusal?.place === null && <Failure error={form.refusal.error} what="The crawl was not started" />}
        </div>
        <UnknownSettings names={unknownNames(form.draft, settings)} />
        <Panel title="What to crawl">
          <div className="flex flex-col gap-4">
            <SeedsField form={form} />
            <NamingFields form={form} />
            <ProfileField form={form} profiles={settings.profiles} />
          </div>
        </Panel>
        <Panel title="Common settings">
          <SettingGrid>
            {common.map((field) => (
              <div key={field.setting.name} className="flex min-w-0 flex-col gap-1">
                <SettingLine field={field} form={form} />
                {field.setting.name === "polite.floor_ms" && <HoldingDelay form={form} />}
              </div>
            ))}
          </SettingGrid>
        </Panel>
        <Advanced form={form} />
      </div>
      <div className="min-w-0 lg:sticky lg:top-4">
        <Differences form={form} may={may} />
      </div>
    </form>
  );
}

/** Moves the focus to the field that is wrong, whose group is open by now, else to the message on top. */
function useFocusOn(refusal: Refusal | null) {
  const element = useRef<HTMLFormElement>(null);
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!refusal) return;
    const control = refusal.place === null ? top.current : element.current?.elements.namedItem(refusal.place);
    if (!(control instanceof HTMLElement)) return;
    control.focus();
    control.scrollIntoView?.({ block: "center" }); // what is disabled takes no focus
  }, [refusal]);
  return { element, top };
}

function UnknownSettings({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p role="status" className="rounded border border-warn bg-warn-ground px-3 py-1.5 break-words text-warn">
      The address has settings that this server does not know; they are left out: {names.join(", ")}
    </p>
  );
}
