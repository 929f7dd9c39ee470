import { keepPreviousData } from "@tanstack/react-query";
import { api } from "../../api/client";
import { useMay } from "../../api/me";
import type { Block } from "../../api/types";
import { Panel } from "../../look/Panel";
import { Empty, Failure, Loading } from "../../look/States";
import { count } from "../../words/format";
import { AddBlocks } from "./AddBlocks";
import { ChangeNeedsAdmin } from "./access";
import { BlockTable } from "./BlockTable";
import { matching } from "./blocks";
import { Filter } from "./Filter";
import { useTyped } from "./useTyped";

const EVERY_MS = 10_000; // others may add some as well

export function BlockRules() {
  const admin = useMay("admin");
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/blocks",
    {},
    { refetchInterval: EVERY_MS, placeholderData: keepPreviousData },
  );
  return (
    <div className={`grid items-start gap-4 ${admin ? "lg:grid-cols-[minmax(0,1fr)_22rem]" : ""}`}>
      {data && <Rules blocks={data.blocks} admin={admin} />}
      {!data && error && <Failure error={error} what="The block rules cannot be shown" retry={refetch} />}
      {!data && !error && <Loading what="block rules" />}
      {admin ? <AddBlocks /> : <ChangeNeedsAdmin />}
    </div>
  );
}

function Rules({ blocks, admin }: { blocks: Block[]; admin: boolean }) {
  const [text, type] = useTyped("text");
  const shown = matching(blocks, text);
  if (!blocks.length) {
    return (
      <Empty title="Nothing is blocked.">
        <p>A blocked domain or pattern is never asked again, in no crawl, also where its URLs are queued already.</p>
        {admin && <p>Add the first one in the form.</p>}
      </Empty>
    );
  }
  return (
    <Panel
      title={`Block rules (${count(blocks.length)})`}
      flush
      actions={<Filter label="Filter rules" value={text} onChange={type} />}
    >
      {shown.length > 0 ? (
        <BlockTable blocks={shown} admin={admin} />
      ) : (
        <p className="p-3 text-dim">No rule has this text.</p>
      )}
    </Panel>
  );
}
