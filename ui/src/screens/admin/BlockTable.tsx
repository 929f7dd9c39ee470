import { useState } from "react";
import { api, queries } from "../../api/client";
import type { Block } from "../../api/types";
import { Button } from "../../look/Button";
import { Confirm } from "../../look/Confirm";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { notice } from "../../look/Notice";
import { type Place, useOwnOrder } from "../../look/ordering";

const COLUMNS: readonly Column[] = [
  { name: "Kind", plain: true, sort: "kind" },
  { name: "Value", plain: true, sort: "value" },
  { name: "Reason", sort: "reason" },
  { name: "By", sort: "by" },
  { name: "Since", sort: "since" },
];
const PLACES = {
  kind: ({ kind }) => kind,
  value: ({ value }) => value,
  reason: ({ reason }) => reason || null,
  by: ({ created_by }) => created_by,
  since: ({ created_at }) => created_at,
} satisfies Record<string, Place<Block>>;
const ACTIONS: Column = { name: "Actions", hidden: true };

export function BlockTable({ blocks, admin }: { blocks: readonly Block[]; admin: boolean }) {
  const [removing, setRemoving] = useState<Block | null>(null);
  const { rows, ordering } = useOwnOrder(blocks, PLACES, null); // all rules are here
  return (
    <>
      <Grid wide caption="Block rules">
        <Head columns={admin ? [...COLUMNS, ACTIONS] : COLUMNS} ordering={ordering} />
        <tbody>
          {rows.map((block) => (
            <BlockRow key={block.id} block={block} onRemove={admin ? () => setRemoving(block) : undefined} />
          ))}
        </tbody>
      </Grid>
      {removing && <RemoveBlock block={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

function BlockRow({ block, onRemove }: { block: Block; onRemove: (() => void) | undefined }) {
  return (
    <tr tabIndex={-1}>
      <td>{block.kind}</td>
      <td className="main w-1/2 min-w-40 font-mono break-all">
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
