import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { api, queries } from "../../../api/client";
import { useMay } from "../../../api/me";
import { asProblem } from "../../../api/problem";
import type { Settings } from "../../../api/types";
import { type Draft, labelsOf } from "./draft";
import { differing, fieldsOf, groupOf, type Order, ordered, type SettingField } from "./fields";
import { keyring } from "./key";
import { textOf } from "./kinds";
import { firstWrong, LABELS, NAME, placeOf, type Refusal, refusalOf, SEEDS, settingAt } from "./refusal";
import { seedsOf } from "./seeds";
import { useDraft } from "./useDraft";

export interface CrawlForm {
  draft: Draft;
  seeds: readonly string[];
  fields: readonly SettingField[];
  order: Order; // the same fields by where they stand
  admin: boolean;
  opened: ReadonlySet<string>; // groups of the advanced settings
  refusal: Refusal | null; // why it was not taken the last time
  busy: boolean;
  /** `place`: what was said of this field is no longer true. */
  change: (part: Partial<Draft>, place?: string) => void;
  setText: (name: string, text: string) => void;
  reset: (name: string) => void;
  toggle: (group: string) => void;
  start: () => Promise<void>;
}

export function useCrawlForm(settings: Settings): CrawlForm {
  const { mutateAsync, isPending, isSuccess } = api.useMutation("post", "/api/v1/crawls");
  const { draft, setDraft, write } = useDraft(settings, isPending || isSuccess);
  const seeds = useMemo(() => seedsOf(draft.seeds), [draft.seeds]);
  const fields = useMemo(() => fieldsOf(settings, draft.profile, draft.texts), [settings, draft.profile, draft.texts]);
  const admin = useMay("admin");
  const order = useMemo(() => ordered(fields, admin), [fields, admin]);
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set(Object.keys(draft.texts).map(groupOf)));
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [keyFor] = useState(keyring);
  const navigate = useNavigate();

  const change = (part: Partial<Draft>, place?: string) => {
    setDraft((before) => ({ ...before, ...part }));
    if (place) setRefusal((before) => (before?.place === place ? null : before));
  };
  const setText = (name: string, text: string) => change({ texts: { ...draft.texts, [name]: text } }, placeOf(name));
  const reset = (name: string) => {
    const { [name]: own, ...texts } = draft.texts;
    const field = fields.find(({ setting }) => setting.name === name);
    // What follows from another setting has no text of its own: then the profile's value is set.
    const back = own === undefined && field ? { [name]: textOf(field.kind, field.base) } : {};
    change({ texts: { ...texts, ...back } }, placeOf(name));
  };
  const toggle = (group: string) =>
    setOpened((before) =>
      before.has(group) ? new Set([...before].filter((one) => one !== group)) : new Set([...before, group]),
    );

  /** The field that is wrong may lie in a closed group, or be filtered out. */
  const refuse = (refused: Refusal) => {
    const name = refused.place && settingAt(refused.place);
    if (name && order.advanced.some(({ setting }) => setting.name === name)) {
      setOpened((before) => new Set([...before, groupOf(name)]));
      setDraft((before) => ({ ...before, advanced: true, find: "" }));
    }
    setRefusal(refused);
  };
  const start = async () => {
    const wrong = firstWrong(seeds, fields);
    if (wrong) return refuse(wrong);
    setRefusal(null);
    write(); // where Back leads to
    const naming = { [NAME]: draft.name.trim(), [LABELS]: labelsOf(draft.labels) };
    const body = { [SEEDS]: [...seeds], profile: draft.profile, settings: differing(fields), ...naming };
    try {
      const made = await mutateAsync({ params: { header: { "Idempotency-Key": keyFor(body) } }, body });
      queries.invalidateQueries();
      navigate(`/crawls/${made.id}`);
    } catch (error) {
      refuse(refusalOf(asProblem(error), fields));
    }
  };
  const actions = { change, setText, reset, toggle, start };
  return { draft, seeds, fields, order, admin, opened, refusal, busy: isPending, ...actions };
}
