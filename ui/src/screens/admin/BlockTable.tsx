import { useState } from "react";
import { api, queries } from "../../api/client";
import type { Block } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { Button } from "../../look/Button";
import { Confirm } from "../../look/Confirm";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { notice } from "../../look/Notice";

const COLUMNS: readonly Column[] = [
  { name: "Kind" },
  { name: "Value" },
  { name: "Reason" },
  { name: "By" },
  { name: "Since" },
];
const ACTIONS: Column = { name: "Actions", hidden: true };

export function BlockTable({ blocks, admin }: { blocks: readonly Block[]; admin: boolean }) {
  const [removing, setRemoving] = useState<Block | null>(null);
  return (
    <>
      <table className="grid-table">
        <caption className="sr-only">Block rules</caption>
        <Head columns={admin ? [...COLUMNS, ACTIONS] : COLUMNS} />
        <tbody onKeyDown={moveBetweenRows}>
          {blocks.map((block) => (
            <BlockRow key={block.id} block={block} onRemove={admin ? () => setRemoving(block) : undefined} />
          ))}
        </tbody>
      </table>
      {removing && <RemoveBlock block={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

function BlockRow({ block, onRemove }: { block: Block; onRemove: (() => void) | undefined }) {
  return (
    <tr tabIndex={0}>
      <td>{block.kind}</td>
      <td className="min-w-40 font-mono break-all">
        <bdi>{block.value}</bdi>
      </td>
      <td className="min-w-32 break-words">
        <bdi>{block.reason}</bdi>
      </td>
      <td>
        <bdi>{block.created_by}</bdi>
      </td>
      <td>
        <Moment at={block.created_at} relative />
      </td>
      {onRemove && (
        <td className="text-right">
          <Button kind="quiet" aria-label={`Remove the rule ${block.value}`} onClick={onRemove}>
            Remove
          </Button>
        </td>
      )}
    </tr>
  );
}

function RemoveBlock({ block, onClose }: { block: Block; onClose: () => void }) {
  const { mutateAsync } = api.useMutation("delete", "/api/v1/blocks/{block_id}");
  const run = async () => {
    await mutateAsync({ params: { path: { block_id: block.id } } });
    await queries.invalidateQueries();
    notice(`${block.value} is blocked no more.`);
  };
  return (
    <Confirm title={`Remove the rule ${block.value}?`} action="Remove the rule" run={run} onClose={onClose}>
      <p>
        What was refused by it stays refused in crawls that run; what is found from now on may be asked, if nothing else
        forbids it.
      </p>
    </Confirm>
  );
}
