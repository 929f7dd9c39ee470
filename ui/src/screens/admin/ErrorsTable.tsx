import type { KeyboardEvent } from "react";
import { Link, useNavigate } from "react-router";
import type { ErrorNote } from "../../api/types";
import { moveBetweenRows } from "../../keys/rows";
import { Moment } from "../../look/Moment";
import { UrlText } from "../../look/UrlText";
import { count, words } from "../../words/format";
import { inspectorOf } from "./errors";

export function ErrorsTable({ errors }: { errors: readonly ErrorNote[] }) {
  return (
    <table className="grid-table">
      <caption className="sr-only">Recent errors, the latest first</caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Reason</th>
          <th scope="col" className="w-1/2 min-w-64">
            URL
          </th>
          <th scope="col" className="w-1/2 min-w-48">
            Detail
          </th>
          <th scope="col" className="number">
            Tries
          </th>
          <th scope="col">Crawl</th>
          <th scope="col">Worker</th>
        </tr>
      </thead>
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
  const inspector = inspectorOf(error);
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Enter" && event.target === event.currentTarget) navigate(inspector);
  };
  return (
    <tr tabIndex={0} onKeyDown={pressed}>
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
