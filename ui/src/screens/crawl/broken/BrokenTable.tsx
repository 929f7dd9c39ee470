import { Link, useSearchParams } from "react-router";
import type { BrokenUrl } from "../../../api/types";
import { Grid } from "../../../look/Grid";
import { Head } from "../../../look/Head";
import { Moment } from "../../../look/Moment";
import { type Place, useOwnOrder } from "../../../look/ordering";
import { UrlText } from "../../../look/UrlText";
import { StateWord } from "../../../look/Word";
import { manyOrMore } from "../../../words/format";
import { LinkWords, PageLink } from "../../urls/inspect/LinkingPage";
import { inspecting } from "../../urls/list/query";
import { reasonWords } from "../../urls/reasons";
import { InspectRow } from "../InspectRow";

const PARTLY = "only a page of them is here";
const PLACES = {
  url: ({ url }) => url,
  state: ({ state }) => state,
  status: ({ status }) => status,
  seen: ({ fetched_at }) => fetched_at,
} satisfies Record<string, Place<BrokenUrl>>;

/** Broken URLs, below each the pages that link there. `partly`: there are more. */
export function BrokenTable({ urls, partly }: { urls: readonly BrokenUrl[]; partly: boolean }) {
  const { rows, ordering } = useOwnOrder(urls, PLACES, null, partly ? PARTLY : "");
  return (
    <div className="overflow-x-auto rounded border border-line">
      <Grid wide caption="Broken URLs; Enter opens one" className="table-fixed">
        <Head
          columns={[
            { name: "URL, and pages that link there", plain: true, sort: "url" },
            { name: "State", plain: true, width: "w-36", sort: "state" },
            { name: "Status", number: true, width: "w-18", sort: "status" },
            { name: "Seen", width: "w-24", sort: "seen", title: "when it was asked for last" },
          ]}
          ordering={ordering}
        />
        <tbody>
          {rows.map((row) => (
            <Row key={row.id} row={row} />
          ))}
        </tbody>
      </Grid>
    </div>
  );
}

function Row({ row }: { row: BrokenUrl }) {
  return (
    <InspectRow url={row.id}>
      <td className="main">
        <UrlText url={row.url} />
        {row.error && (
          <span title={row.error} className="block truncate text-dim">
            {row.error}
          </span>
        )}
        <Linked row={row} />
      </td>
      <td>
        <StateWord state={row.state} />
        {row.reason && <span className="block text-dim">{reasonWords(row.reason)}</span>}
      </td>
      <td className="number">{row.status}</td>
      <td>{row.fetched_at ? <Moment at={row.fetched_at} relative /> : <span className="text-dim">never</span>}</td>
    </InspectRow>
  );
}

function Linked({ row: { id, linked } }: { row: BrokenUrl }) {
  const [search] = useSearchParams();
  const { links, total, total_exact } = linked;
  if (links.length === 0) return <p className="pl-3 text-dim">no page links there</p>;
  const direct = links.filter(({ via }) => via === null);
  const moved = new Map(direct.map((link) => [link.url, link.id]));
  return (
    <>
      <ul aria-label="Pages that link there" className="mt-0.5 flex flex-col gap-0.5">
        {links.map((link) => (
          <li key={`${link.id} ${link.via}`} className="flex flex-wrap gap-x-3 border-l-2 border-line pl-2">
            <PageLink page={link} />
            <LinkWords link={link} moved={link.via === null ? undefined : moved.get(link.via)} />
          </li>
        ))}
      </ul>
      {(total > direct.length || !total_exact) && (
        <Link to={`?${inspecting(search, id, "links")}`} className="link pl-2.5">
          {manyOrMore(total, total_exact, "page")} in all
        </Link>
      )}
    </>
  );
}
