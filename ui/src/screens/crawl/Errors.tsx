import { api, LIVE_MS } from "../../api/client";
import type { ErrorNote } from "../../api/types";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { Panel } from "../../look/Panel";
import { Failure, Loading } from "../../look/States";
import { UrlText } from "../../look/UrlText";
import { count } from "../../words/format";
import { reasonWords } from "../urls/reasons";
import { BarTable } from "./BarTable";
import { errorPath } from "./breakdown";
import { InspectRow } from "./InspectRow";

const LIMIT = 10;

const KINDS: Readonly<Record<string, string>> = {
  not_found: "not found",
  forbidden: "forbidden",
  http_error: "other status",
};

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

/** What pages need and nobody could have: they look broken without it. */
export function BrokenRequisites({ crawl, errors }: { crawl: string; errors: Readonly<Record<string, number>> }) {
  return (
    <BarTable
      title="Broken requisites"
      of="Kind"
      counts={errors}
      limit={10}
      nothing="None is broken."
      say={(kind) => KINDS[kind] ?? reasonWords(kind)}
      to={(kind) => errorPath(crawl, kind, "requisite")}
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
        <p className="p-3 text-dim">No try went wrong. (403 and 404 are answers: they are counted by kind.)</p>
      ) : (
        <ErrorTable errors={data.errors} />
      )}
    </Panel>
  );
}

const COLUMNS: readonly Column[] = [
  { name: "When", plain: true, width: "w-24" },
  { name: "Kind", plain: true, width: "w-36" },
  { name: "URL and detail", plain: true },
  { name: "Tries", number: true, width: "w-14" },
];

function ErrorTable({ errors }: { errors: readonly ErrorNote[] }) {
  return (
    <Grid wide className="table-fixed">
      <Head columns={COLUMNS} />
      <tbody>
        {errors.map((note) => (
          <ErrorRow key={note.id} note={note} />
        ))}
      </tbody>
    </Grid>
  );
}

function ErrorRow({ note }: { note: ErrorNote }) {
  return (
    <InspectRow url={note.url_id}>
      <td className="whitespace-nowrap">
        <Moment at={note.at} relative />
      </td>
      <td className="text-danger">{reasonWords(note.reason)}</td>
      <td className="main">
        <UrlText url={note.url} />
        {note.detail && (
          <span title={note.detail} className="block truncate text-dim">
            {note.detail}
          </span>
        )}
      </td>
      <td className="number">{count(note.tries)}</td>
    </InspectRow>
  );
}
