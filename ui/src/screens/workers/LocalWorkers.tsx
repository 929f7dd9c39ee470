import { useState } from "react";
import { api, queries } from "../../api/client";
import { useMay } from "../../api/me";
import { asProblem } from "../../api/problem";
import { Button } from "../../look/Button";
import { Confirm } from "../../look/Confirm";
import { notice } from "../../look/Notice";
import { many } from "../../words/format";

const LOCAL_MAX = 64;

export function useResize() {
  const { mutateAsync, isPending } = api.useMutation("put", "/api/v1/workers/local", {
    // Until the list is read anew the next step would start from an old number.
    onSuccess: () => queries.invalidateQueries(),
  });
  const resize = async (count: number) => {
    await mutateAsync({ body: { count } });
    notice(`This server keeps ${many(count, "worker")} now.`);
  };
  return { resize, busy: isPending };
}

/** "Workers of this server: 2 [-] [+]" */
export function LocalWorkers({ local }: { local: number | null }) {
  const admin = useMay("admin");
  const { resize, busy } = useResize();
  const [removing, setRemoving] = useState(false);
  if (local === null) return <p className="text-dim">This server keeps no workers of its own.</p>;
  const add = () => resize(local + 1).catch((error: unknown) => notice(`Not added: ${asProblem(error).message}`));
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms, and this is no form
    <div role="group" aria-label="Workers of this server" className="flex items-center gap-2">
      <span className="text-dim">
        Workers of this server: <span className="font-mono text-text tabular-nums">{local}</span>
      </span>
      {admin && (
        <>
          <Button aria-label="Remove a worker" disabled={local === 0} busy={busy} onClick={() => setRemoving(true)}>
            −
          </Button>
          <Button aria-label="Add a worker" disabled={local >= LOCAL_MAX} busy={busy} onClick={add}>
            +
          </Button>
        </>
      )}
      {removing && (
        <Confirm
          title="Remove a worker of this server?"
          action="Remove one"
          run={() => resize(local - 1)}
          onClose={() => setRemoving(false)}
        >
          <p>One finishes what is in flight and ends; nothing is lost. Its hosts go to the others.</p>
          {local === 1 && <p>It is the last of this server: without workers elsewhere, all crawls wait.</p>}
        </Confirm>
      )}
    </div>
  );
}
