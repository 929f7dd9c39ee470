import { Button } from "../../look/Button";
import { Copy } from "../../look/Copy";
import { Dialog } from "../../look/Dialog";
import type { Made } from "./NewToken";

export function SecretDialog({ made, onClose }: { made: Made; onClose: () => void }) {
  return (
    <Dialog title={`The token ${made.name}`} onClose={onClose}>
      <div className="flex flex-col gap-3">
        <p>This is its secret. It is not shown again: only a digest of it is stored.</p>
        <p className="flex items-start gap-2 rounded border border-line bg-panel p-2">
          <code data-secret className="min-w-0 flex-1 font-mono break-all select-all">
            {made.secret}
          </code>
          <Copy text={made.secret} />
        </p>
        <p className="text-dim">
          Send it as <code className="font-mono">Authorization: Bearer SECRET</code>.
          {made.kept && " This tab uses it from now on, until it is closed."}
        </p>
        <div className="flex justify-end">
          <Button kind="primary" onClick={onClose}>
            I have put it away
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
