import type { Sitemap } from "../../../api/types";
import { Grid } from "../../../look/Grid";
import { Head } from "../../../look/Head";
import { type Place, useOwnOrder } from "../../../look/ordering";
import { UrlText } from "../../../look/UrlText";
import { StateWord } from "../../../look/Word";
import { count } from "../../../words/format";
import { reasonWords } from "../../urls/reasons";
import { InspectRow } from "../InspectRow";
import { besideWords } from "./lists";

const PARTLY = "only a page of them is here";
const PLACES = {
  url: ({ url }) => url,
  state: ({ state }) => state,
  format: ({ format }) => format || null,
  entries: ({ entries }) => entries,
  admitted: ({ admitted }) => admitted,
} satisfies Record<string, Place<Sitemap>>;

/** Sitemaps with what they list, how they were found, and what is wrong with them. `partly`: there are more. */
export function SitemapTable({ sitemaps, partly }: { sitemaps: readonly Sitemap[]; partly: boolean }) {
  const { rows, ordering } = useOwnOrder(sitemaps, PLACES, null, partly ? PARTLY : "");
  return (
    <div className="overflow-x-auto rounded border border-line">
      <Grid wide caption="Sitemaps; Enter opens one" className="table-fixed">
        <Head
          columns={[
            { name: "Sitemap", plain: true, sort: "url" },
            { name: "State", plain: true, width: "w-44", sort: "state" },
            { name: "Format", width: "w-24", sort: "format" },
            { name: "URLs", number: true, width: "w-24", sort: "entries", title: "that it lists" },
            {
              name: "Admitted",
              number: true,
              width: "w-24",
              sort: "admitted",
              title: "of these, those that the rules of the crawl admit",
            },
            { name: "Also lists", width: "w-48", unsorted: "these are several numbers" },
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

function Row({ row }: { row: Sitemap }) {
  const beside = besideWords(row);
  return (
    <InspectRow url={row.id}>
      <td className="main">
        <UrlText url={row.url} />
        <span className="block truncate text-dim" title={row.found}>
          {row.found}
        </span>
        {row.problem && <span className="block wrap-anywhere text-danger">{row.problem}</span>}
      </td>
      <td>
        <StateWord state={row.state} />
        {row.reason && <span className="block text-dim">{reasonWords(row.reason)}</span>}
      </td>
      <td>{row.format}</td>
      <td className="number">{count(row.entries)}</td>
      <td className="number">{count(row.admitted)}</td>
      <td>{beside}</td>
    </InspectRow>
  );
}
