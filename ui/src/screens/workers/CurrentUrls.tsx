import type { Worker } from "../../api/types";
import { Copy } from "../../look/Copy";
import { UrlText } from "../../look/UrlText";
import { many } from "../../words/format";
import { keyed } from "./pulse";

/** All that the server tells of what a worker fetches, the oldest first, in a row below the worker's own. */
export function CurrentUrls({ worker, columns }: { worker: Worker; columns: number }) {
  const untold = worker.in_flight - worker.current.length;
  return (
    <tr>
      <td colSpan={columns} className="bg-panel">
        {/* Ten lines, the most there are: the rows below stay where they are. */}
        <div className="min-h-50 w-0 min-w-full">
          <p className="text-dim">
            In flight at worker {worker.id}, the oldest first
            {untold > 0 && `; ${many(untold, "more is", "more are")} not listed`}:
          </p>
          <ol>
            {keyed(worker.current).map(({ key, url }) => (
              <li key={key} className="flex items-baseline gap-2">
                <Copy text={url} />
                <span className="min-w-0">
                  <UrlText url={url} />
                </span>
              </li>
            ))}
            {worker.current.length === 0 && <li className="text-dim">nothing</li>}
          </ol>
        </div>
      </td>
    </tr>
  );
}
