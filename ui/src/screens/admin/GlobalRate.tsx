import { type FormEvent, useState } from "react";
import { api, queries } from "../../api/client";
import { useMay } from "../../api/me";
import { asProblem } from "../../api/problem";
import { Button } from "../../look/Button";
import { Field } from "../../look/Field";
import { notice } from "../../look/Notice";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { ChangeNeedsAdmin } from "./access";
import { meaning, read, typed } from "./floor";

export function GlobalRate() {
  const admin = useMay("admin");
  const { data, error, refetch } = api.useQuery("get", "/api/v1/floor", {}, { refetchInterval: 10_000 });
  return (
    <Panel title="Global rate limit">
      {data && (
        <div className="flex max-w-prose flex-col gap-4">
          <p>{meaning(data.floor_ms)}</p>
          {admin ? <FloorForm now={data.floor_ms} /> : <ChangeNeedsAdmin />}
        </div>
      )}
      {!data && error && <Failure error={error} what="The limit cannot be shown" retry={refetch} />}
      {!data && !error && <Loading what="the limit" />}
    </Panel>
  );
}

function FloorForm({ now }: { now: number }) {
  const [draft, setDraft] = useState<string | null>(null); // null: untouched, it follows the server
  const [wrong, setWrong] = useState("");
  const { mutateAsync, isPending } = api.useMutation("put", "/api/v1/floor");

  const send = async (event: FormEvent) => {
    event.preventDefault();
    const found = read(draft ?? typed(now));
    if ("wrong" in found) return setWrong(found.wrong);
    try {
      await mutateAsync({ body: { floor_ms: found.ms } });
    } catch (error) {
      return setWrong(asProblem(error).message);
    }
    await queries.invalidateQueries();
    setDraft(null);
    setWrong("");
    notice(found.ms ? `At least ${typed(found.ms)} between two requests to any host.` : "No global limit.");
  };

  return (
    <form onSubmit={send} noValidate className="flex flex-col gap-3">
      <Field
        label="At least this long between two requests to any host, in all crawls"
        help="Like 2 s, 500 ms or 1 min; 0 is none. Workers follow within seconds. Longer delays of crawls, hosts and robots.txt stay."
        error={wrong}
      >
        {(attributes) => (
          <input
            {...attributes}
            value={draft ?? typed(now)}
            onChange={(event) => setDraft(event.target.value)}
            autoComplete="off"
            className="input max-w-40 font-mono"
          />
        )}
      </Field>
      <div>
        <Button kind="primary" type="submit" busy={isPending} disabled={draft === null}>
          Set
        </Button>
      </div>
    </form>
  );
}
