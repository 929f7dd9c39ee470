import { type FormEvent, useState } from "react";
import { client, queries } from "../api/client";
import { connection } from "../api/connection";
import { asProblem } from "../api/problem";
import { forgetSecret, keepSecret } from "../api/secret";
import { Button } from "../look/Button";
import { Dialog } from "../look/Dialog";
import { Field } from "../look/Field";

/** Asks for a token if the server needs one, tries it and keeps it. */
export function TokenDialog() {
  const [text, setText] = useState("");
  const [remember, setRemember] = useState(false);
  const [problem, setProblem] = useState("");
  const enter = async (event: FormEvent) => {
    event.preventDefault();
    keepSecret(text.trim(), remember);
    try {
      await client.GET("/api/v1/me");
      connection.admitted();
      await queries.invalidateQueries();
    } catch (error) {
      forgetSecret();
      setProblem(asProblem(error).message);
    }
  };
  return (
    <Dialog title="This server asks for a token" onClose={() => undefined}>
      <form onSubmit={enter} className="flex flex-col gap-3">
        <Field
          label="Token"
          error={problem}
          help="On the server, `nephila token create NAME --access admin` makes one. It is sent to this server only."
        >
          {(attributes) => (
            <input
              {...attributes}
              type="password"
              autoComplete="off"
              required
              value={text}
              onChange={(event) => setText(event.target.value)}
              className="input font-mono"
            />
          )}
        </Field>
        <label className="flex items-center gap-2">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
          Remember it in this browser
        </label>
        <div className="flex justify-end">
          <Button kind="primary" type="submit">
            Enter
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
