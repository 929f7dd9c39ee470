import { type FormEvent, useState } from "react";
import { client, queries } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { CrawlDetail } from "../../api/types";
import { Button } from "../../look/Button";
import { Dialog } from "../../look/Dialog";
import { Field } from "../../look/Field";
import { notice } from "../../look/Notice";
import { changesOf, closed, FIELDS, fieldOf, type Texts, type TuneField, textsOf, type Values, valuesOf } from "./tune";

interface Props {
  id: string;
  detail: CrawlDetail;
  onClose: () => void;
}

/** Sends the pace, then the limits. If the limits are refused, the pace holds already and is not sent again. */
async function send(id: string, pace: Values, limits: Values, kept: (detail: CrawlDetail) => void): Promise<void> {
  const where = { params: { path: { crawl: id } } };
  if (Object.keys(pace).length) {
    const { data } = await client.PATCH("/api/v1/crawls/{crawl}/pace", { ...where, body: pace });
    if (data) kept(data);
  }
  if (Object.keys(limits).length) {
    const { data } = await client.PATCH("/api/v1/crawls/{crawl}/limits", { ...where, body: limits });
    if (data) kept(data);
  }
}

function useTuning({ id, detail, onClose }: Props) {
  const [before, setBefore] = useState(() => valuesOf(detail.settings));
  const [texts, setTexts] = useState<Texts>(() => textsOf(before));
  const [wrong, setWrong] = useState<Texts>({});
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);

  const refused = (error: unknown) => {
    const problem = asProblem(error);
    const { message, hint } = problem;
    const found = fieldOf(problem.field);
    if (found) setWrong({ [found.name]: problem.under(found.label) });
    else setProblem(hint ? `${message}; ${hint}` : message);
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const changes = changesOf(before, texts);
    setWrong(changes.wrong);
    setProblem("");
    if (Object.keys(changes.wrong).length) return;
    setBusy(true);
    try {
      await send(id, changes.pace, changes.limits, (next) => setBefore(valuesOf(next.settings)));
      const count = Object.keys(changes.pace).length + Object.keys(changes.limits).length;
      notice(count ? `crawl ${detail.id}: workers follow with their next flush` : "nothing was changed");
      onClose();
      await queries.invalidateQueries();
    } catch (error) {
      refused(error);
      setBusy(false);
    }
  };
  const type = (name: string, text: string) => setTexts((known) => ({ ...known, [name]: text }));
  return { before, texts, wrong, problem, busy, save, type };
}

export function TuneDialog(props: Props) {
  const { before, texts, wrong, problem, busy, save, type } = useTuning(props);
  const group = (name: TuneField["group"]) =>
    FIELDS.filter((field) => field.group === name).map((field) => (
      <TuneInput
        key={field.name}
        field={field}
        text={texts[field.name] ?? ""}
        error={wrong[field.name]}
        closed={closed(field, before)}
        onText={(text) => type(field.name, text)}
      />
    ));
  return (
    <Dialog title={`Pace and limits of crawl ${props.detail.id}`} onClose={props.onClose} wide>
      <form onSubmit={save} noValidate className="flex flex-col gap-4">
        <fieldset>
          <legend className="mb-2 text-dim">Pace</legend>
          <div className="grid gap-3 sm:grid-cols-2">{group("pace")}</div>
        </fieldset>
        <fieldset>
          <legend className="mb-2 text-dim">Limits: what one of them has ended already stays ended</legend>
          <div className="grid gap-3 sm:grid-cols-2">{group("limits")}</div>
        </fieldset>
        {problem && (
          <p role="alert" className="text-danger">
            {problem}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={props.onClose}>Keep it as it is</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface InputProps {
  field: TuneField;
  text: string;
  error: string | undefined;
  closed: boolean;
  onText: (text: string) => void;
}

function TuneInput({ field, text, error, closed, onText }: InputProps) {
  if (field.kind === "yes") {
    return (
      <label className="flex items-center gap-2 self-start sm:pt-6">
        <input
          type="checkbox"
          checked={text === "yes"}
          onChange={(event) => onText(event.target.checked ? "yes" : "no")}
        />
        {field.label}
      </label>
    );
  }
  return (
    <Field label={field.label} help={closed ? "none: it was started without this limit" : field.help} error={error}>
      {(attributes) => (
        <input
          {...attributes}
          value={text}
          disabled={closed}
          onChange={(event) => onText(event.target.value)}
          autoComplete="off"
          className="input font-mono"
        />
      )}
    </Field>
  );
}
