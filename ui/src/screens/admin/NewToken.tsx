import { type FormEvent, useState } from "react";
import { api, queries } from "../../api/client";
import { connection } from "../../api/connection";
import { asProblem } from "../../api/problem";
import { keepSecret, secret } from "../../api/secret";
import type { Access } from "../../api/types";
import { Field } from "../../look/Field";
import { Panel } from "../../look/Panel";
import { FormEnd } from "./FormEnd";

export interface Made {
  name: string;
  access: Access;
  secret: string;
  kept: boolean; // this tab uses it from now on
}

type Wrong = Partial<Record<"name" | "access" | "whole", string>>;

const LABELS = { name: "Name", access: "Access", whole: "" };
const NAME_CHARS_MAX = 100;
const MEANINGS: Record<Access, string> = {
  read: "read: may look at everything but tokens and settings",
  write: "write: may also start, pause, change and cancel crawls",
  admin: "admin: may also block, change hosts, workers and tokens",
};

export function NewToken({ first, onMade }: { first: boolean; onMade: (made: Made) => void }) {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<Access>("read");
  const [wrong, setWrong] = useState<Wrong>({});
  const { mutateAsync, isPending } = api.useMutation("post", "/api/v1/tokens");
  const access = first ? "admin" : chosen;

  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (!name.trim()) return setWrong({ name: "Give it a name: who or what uses it." });
    try {
      const made = await mutateAsync({ body: { name: name.trim(), access } });
      // Before any other request: without the token this tab would lock itself out.
      const kept = secret() === null;
      if (kept) {
        keepSecret(made.secret, false);
        connection.admitted();
      }
      setWrong({});
      setName("");
      onMade({ name: made.name, access: made.access, secret: made.secret, kept });
      await queries.invalidateQueries();
    } catch (error) {
      const problem = asProblem(error);
      const field = problem.field === "name" || problem.field === "access" ? problem.field : "whole";
      setWrong({ [field]: problem.under(LABELS[field]) });
    }
  };

  return (
    <Panel title="New token">
      <form onSubmit={send} noValidate className="flex flex-col gap-3">
        {first && <FirstWarning />}
        <Field label={LABELS.name} help="Who or what uses it: it is noted at what they change." error={wrong.name}>
          {(attributes) => (
            <input
              {...attributes}
              maxLength={NAME_CHARS_MAX}
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.target.value)}
              className="input"
            />
          )}
        </Field>
        <AccessField access={access} fixed={first} wrong={wrong.access} onChange={setChosen} />
        <FormEnd wrong={wrong.whole} busy={isPending}>
          {first ? "Make the first token" : "Make the token"}
        </FormEnd>
      </form>
    </Panel>
  );
}

/** Warns before the token is made: afterwards is too late. */
function FirstWarning() {
  return (
    <p className="rounded border border-warn bg-warn-ground p-2 text-warn">
      This will be the first token. It closes the server to everybody without one, this machine included: other tabs,
      scripts and dashboards are asked for a token next. This tab keeps the new one until it is closed; put the secret
      away when it is shown.
    </p>
  );
}

interface AccessProps {
  access: Access;
  fixed: boolean;
  wrong: string | undefined;
  onChange: (access: Access) => void;
}

function AccessField({ access, fixed, wrong, onChange }: AccessProps) {
  const help = fixed ? "The first must have access admin, or nobody could make another." : undefined;
  return (
    <Field label={LABELS.access} help={help} error={wrong}>
      {(attributes) => (
        <select
          {...attributes}
          value={access}
          disabled={fixed}
          onChange={(event) => onChange(event.target.value as Access)}
          className="input"
        >
          {(Object.keys(MEANINGS) as Access[]).map((each) => (
            <option key={each} value={each}>
              {MEANINGS[each]}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
