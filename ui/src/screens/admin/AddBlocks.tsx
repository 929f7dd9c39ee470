import { type FormEvent, useId, useState } from "react";
import { api, queries } from "../../api/client";
import { asProblem } from "../../api/problem";
import { Field } from "../../look/Field";
import { notice } from "../../look/Notice";
import { Panel } from "../../look/Panel";
import { many } from "../../words/format";
import { type BlockKind, type Placed, placed, valuesOf, wrongWith } from "./blocks";
import { FormEnd } from "./FormEnd";

const HELP: Record<BlockKind, string> = {
  domain: "With everything below it: spam.example blocks www.spam.example too. Many at once: one per line.",
  pattern: "Of the whole URL; * stands for anything, ? for one character: *://example.com/tag/*. One per line.",
};
const REASON_CHARS_MAX = 500;

export function AddBlocks() {
  const [kind, setKind] = useState<BlockKind>("domain");
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const [wrong, setWrong] = useState<Placed>({});
  const { mutateAsync, isPending } = api.useMutation("post", "/api/v1/blocks");
  const values = valuesOf(kind, text);

  const send = async (event: FormEvent) => {
    event.preventDefault();
    const missing = wrongWith(values);
    if (missing) return setWrong({ values: missing });
    try {
      await mutateAsync({ body: { kind, values, reason: reason.trim() } });
    } catch (error) {
      return setWrong(placed(asProblem(error), values));
    }
    setWrong({});
    setText("");
    setReason("");
    notice(`Blocked: ${many(values.length, "rule")}.`);
    await queries.invalidateQueries();
  };

  return (
    <Panel title="Block more">
      <form onSubmit={send} noValidate className="flex flex-col gap-3">
        <Kinds kind={kind} onChange={setKind} />
        <Field label={kind === "domain" ? "Domains" : "Patterns"} help={HELP[kind]} error={wrong.values}>
          {(attributes) => (
            <textarea
              {...attributes}
              rows={4}
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
              className="input font-mono"
            />
          )}
        </Field>
        <Field
          label="Reason"
          help="For those who find it later; it is shown where a URL is refused."
          error={wrong.reason}
        >
          {(attributes) => (
            <input
              {...attributes}
              maxLength={REASON_CHARS_MAX}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
              className="input"
            />
          )}
        </Field>
        <FormEnd wrong={wrong.whole} busy={isPending}>
          {values.length > 1 ? `Block ${values.length}` : "Block"}
        </FormEnd>
      </form>
    </Panel>
  );
}

function Kinds({ kind, onChange }: { kind: BlockKind; onChange: (kind: BlockKind) => void }) {
  const name = useId();
  return (
    <fieldset className="flex gap-4">
      <legend className="mb-1 font-medium">Kind</legend>
      {(["domain", "pattern"] as const).map((each) => (
        <label key={each} className="flex items-center gap-1.5">
          <input type="radio" name={name} checked={kind === each} onChange={() => onChange(each)} />
          {each}
        </label>
      ))}
    </fieldset>
  );
}
