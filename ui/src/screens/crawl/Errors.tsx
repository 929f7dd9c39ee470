import { api, LIVE_MS } from "../../api/client";
import type { ErrorNote } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { Moment } from "../../look/Moment";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { UrlText } from "../../look/UrlText";
import { count } from "../../words/format";
import { reasonWords } from "../urls/reasons";
import { BarTable } from "./BarTable";
import { errorPath } from "./breakdown";
import { useInspected } from "./context";

const LIMIT = 10;

const KINDS: Readonly<Record<string, string>> = { not_found: "not found", forbidden: "forbidden" };

export function ErrorKinds({ crawl, errors }: { crawl: string; errors: Readonly<Record<string, number>> }) {
  return (
    <BarTable
      title="Errors by kind"
      of="Kind"
      counts={errors}
      limit={10}
      nothing="No errors."
      say={(kind) => KINDS[kind] ?? reasonWords(kind)}
      to={(kind) => errorPath(crawl, kind)}
    />
  );
}

export function RecentErrors({ crawl, over }: { crawl: string; over: boolean }) {
  const { data, error, refetch } = api.useQuery(
    "get",
    "/api/v1/errors",
    { params: { query: { crawl, limit: LIMIT } } },
    { refetchInterval: over ? false : 2 * LIVE_MS },
  );
  return (
    <Panel title="Recent errors" flush>
      {!data && error ? (
        <Failure error={error} what="The errors cannot be read" retry={refetch} />
      ) : !data ? (
        <Loading what="errors" />
      ) : data.errors.length === 0 ? (
        <p className="p-3 text-dim">No errors were noted.</p>
      ) : (
        <ErrorTable errors={data.errors} />
      )}
    </Panel>
  );
}

function ErrorTable({ errors }: { errors: readonly ErrorNote[] }) {
  const [inspected, inspect] = useInspected();
  return (
    <table className="grid-table table-fixed min-w-120">
      <thead>
        <tr>
          <th scope="col" className="w-24">
            When
          </th>
          <th scope="col" className="w-36">
            Kind
          </th>
          <th scope="col">URL and detail</th>
          <th scope="col" className="w-14 text-right">
            Tries
          </th>
        </tr>
      </thead>
      <tbody onKeyDown={moveBetweenRows}>
        {errors.map((note) => (
          <ErrorRow key={note.id} note={note} open={note.url_id === inspected} onOpen={() => inspect(note.url_id)} />
        ))}
      </tbody>
    </table>
  );
}

function ErrorRow({ note, open, onOpen }: { note: ErrorNote; open: boolean; onOpen: () => void }) {
  return (
    <tr
      tabIndex={0}
      aria-current={open || undefined}
      onClick={onOpen}
      onKeyDown={(event) => event.key === "Enter" && onOpen()}
      className={`cursor-pointer ${open ? "bg-accent-ground" : ""}`}
    >
      <td className="whitespace-nowrap">
        <Moment at={note.at} relative />
      </td>
      <td className="text-danger">{reasonWords(note.reason)}</td>
      <td>
        <UrlText url={note.url} />
        {note.detail && (
          <span title={note.detail} className="block truncate text-dim">
            {note.detail}
          </span>
        )}
      </td>
      <td className="number">{count(note.tries)}</td>
    </tr>
  );
}
