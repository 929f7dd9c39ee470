import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { api, LIVE_MS } from "../../api/client";
import type { Worker } from "../../api/types";
import { Page } from "../../look/Page";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { count } from "../../words/format";
import { EndedWorkers } from "./EndedWorkers";
import { LocalWorkers } from "./LocalWorkers";
import { NoWorkers } from "./NoWorkers";
import { endedOf, shownOf } from "./pulse";
import { WorkerFigures } from "./WorkerFigures";
import { WorkersTable } from "./WorkersTable";

const NONE: ReadonlySet<number> = new Set();

export function WorkersScreen() {
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/workers",
    {},
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  return (
    <Page title="Workers" json="/api/v1/workers" actions={data && <LocalWorkers local={data.local} />}>
      <WorkerFigures />
      {error && !data && <Failure error={error} what="The workers cannot be shown" retry={refetch} />}
      {!error && !data && <Loading what="workers" />}
      {data && <Lists workers={data.workers} local={data.local} />}
    </Page>
  );
}

function Lists({ workers, local }: { workers: Worker[]; local: number | null }) {
  const [held, setHeld] = useState(NONE);
  const shown = shownOf(workers, held);
  const ended = endedOf(workers, held);
  return (
    <>
      {shown.length > 0 ? (
        <Panel title={`At work (${count(shown.length)})`} flush>
          <WorkersTable
            workers={shown}
            onEnter={() => setHeld(new Set(shown.map(({ id }) => id)))}
            onLeave={() => setHeld(NONE)}
          />
        </Panel>
      ) : (
        <NoWorkers local={local} />
      )}
      {ended.length > 0 && <EndedWorkers workers={ended} />}
    </>
  );
}
