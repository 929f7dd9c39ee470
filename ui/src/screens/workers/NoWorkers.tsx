import { useMay } from "../../api/me";
import { asProblem } from "../../api/problem";
import { Button } from "../../look/Button";
import { Copy } from "../../look/Copy";
import { notice } from "../../look/Notice";
import { Empty } from "../../look/States";
import { useResize } from "./LocalWorkers";

const COMMAND = "nephila worker --store STORE";

export function NoWorkers({ local }: { local: number | null }) {
  const admin = useMay("admin");
  const { resize, busy } = useResize();
  const start = () => resize(1).catch((error: unknown) => notice(`Not started: ${asProblem(error).message}`));
  const starting = local !== null && local > 0;
  return (
    <Empty title="No worker is alive: nothing is crawled now.">
      {starting && <p>This server starts its own; they appear here in a moment.</p>}
      {local === 0 && admin && (
        <Button kind="primary" busy={busy} onClick={start}>
          Start a worker here
        </Button>
      )}
      <p>On any machine that reaches the store, start as many as you like:</p>
      <p className="flex flex-wrap items-center gap-1">
        <code className="font-mono text-text">{COMMAND}</code>
        <Copy text={COMMAND} />
      </p>
    </Empty>
  );
}
