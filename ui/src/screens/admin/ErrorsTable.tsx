import { Link, useNavigate } from "react-router";
import type { ErrorNote } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import { UrlText } from "../../look/UrlText";
import { count, words } from "../../words/format";
import { inspectorOf } from "../address";
import { onEnter } from "../onEnter";

const COLUMNS: readonly Column[] = [
  { name: "When" },
  { name: "Reason" },
  { name: "URL", width: "w-1/2 min-w-64" },
  { name: "Detail", width: "w-1/2 min-w-48" },
  { name: "Tries", number: true },
  { name: "Crawl" },
  { name: "Worker" },
];

export function ErrorsTable({ errors }: { errors: readonly ErrorNote[] }) {
  return (
    <table className="grid-table">
      <caption className="sr-only">Recent errors, the latest first</caption>
      <Head columns={COLUMNS} />
      <tbody onKeyDown={moveBetweenRows}>
        {errors.map((error) => (
          <ErrorRow key={error.id} error={error} />
        ))}
      </tbody>
    </table>
  );
}

function ErrorRow({ error }: { error: ErrorNote }) {
  const navigate = useNavigate();
  const inspector = inspectorOf(error.crawl, error.url_id);
  return (
    <tr tabIndex={0} onKeyDown={onEnter(() => navigate(inspector))}>
      <td>
        <Moment at={error.at} relative />
      </td>
      <td className="whitespace-nowrap text-danger">{words(error.reason)}</td>
      <td>
        <Link to={inspector} className="link block w-0 min-w-full">
          <UrlText url={error.url} />
        </Link>
      </td>
      <td>
        <bdi title={error.detail} className="block w-0 min-w-full truncate">
          {error.detail}
        </bdi>
      </td>
      <td className="number">{count(error.tries)}</td>
      <td className="font-mono">
        <Link to={`/crawls/${error.crawl}`} className="link">
          {error.crawl}
        </Link>
      </td>
      <td className="font-mono">{error.worker}</td>
    </tr>
  );
}
