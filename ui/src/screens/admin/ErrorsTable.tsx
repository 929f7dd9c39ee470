import { Link, useNavigate } from "react-router";
import type { ErrorNote } from "../../api/types";
import { onEnter } from "../../keys/rows";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Moment } from "../../look/Moment";
import type { Ordering } from "../../look/ordering";
import { UrlText } from "../../look/UrlText";
import { count, words } from "../../words/format";
import { inspectorOf } from "../address";

const UNSORTED = "only the latest errors are here, in the order of time: filter them instead";
const COLUMNS: readonly Column[] = [
  { name: "When", sort: "at" },
  { name: "Reason", plain: true, unsorted: UNSORTED },
  { name: "URL", plain: true, width: "w-1/2 min-w-64", unsorted: UNSORTED },
  { name: "Detail", width: "w-1/2 min-w-48", unsorted: UNSORTED },
  { name: "Tries", number: true, unsorted: UNSORTED },
  { name: "Crawl", unsorted: UNSORTED },
  { name: "Worker", unsorted: UNSORTED },
];

/** One order, and nothing to choose. */
const LATEST_FIRST: Ordering = {
  towards: () => "descending",
  refuses: () => "the latest come first",
  choose: () => {},
};

export function ErrorsTable({ errors }: { errors: readonly ErrorNote[] }) {
  return (
    <Grid wide caption="Recent errors, the latest first; Enter opens one">
      <Head columns={COLUMNS} ordering={LATEST_FIRST} />
      <tbody>
        {errors.map((error) => (
          <ErrorRow key={error.id} error={error} />
        ))}
      </tbody>
    </Grid>
  );
}

function ErrorRow({ error }: { error: ErrorNote }) {
  const navigate = useNavigate();
  const inspector = inspectorOf(error.crawl, error.url_id);
  return (
    <tr tabIndex={-1} onKeyDown={onEnter(() => navigate(inspector))}>
      <td>
        <Moment at={error.at} relative />
      </td>
      <td className="whitespace-nowrap text-danger">{words(error.reason)}</td>
      <td className="main">
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
