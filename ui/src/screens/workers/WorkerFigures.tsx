import { keepPreviousData } from "@tanstack/react-query";
import { api, LIVE_MS } from "../../api/client";
import { Figure, Figures } from "../../look/Panel";
import { bytes, count, rate } from "../../words/format";
import { cores } from "./pulse";

/** Numbers keep their place while they are not known yet: a dash each. The list below says what went wrong, if it did. */
export function WorkerFigures() {
  const { data } = api.useQuery(
    "get",
    "/api/v1/stats",
    {},
    { refetchInterval: LIVE_MS, placeholderData: keepPreviousData },
  );
  return (
    <Figures>
      <Figure name="Alive" value={data ? count(data.workers_alive) : "–"} />
      <Figure name="Pages" value={rate(data?.pages_per_s)} />
      <Figure name="In progress" value={data ? count(data.in_progress) : "–"} />
      <Figure name="Queued" value={data ? count(data.queued) : "–"} />
      <Figure name="Cores in use" value={data ? cores(data.cpu) : "–"} />
      <Figure name="Memory" value={bytes(data?.rss_bytes)} />
      <Figure name="Received" value={data ? `${bytes(data.received_per_s)}/s` : "–"} />
    </Figures>
  );
}
