import { Link, useSearchParams } from "react-router";
import { asProblem } from "../../../api/problem";
import type { ListedPage, Sitemap } from "../../../api/types";
import { Grid } from "../../../look/Grid";
import { Head } from "../../../look/Head";
import { type Place, useOwnOrder } from "../../../look/ordering";
import { Empty, Failure, Loading } from "../../../look/States";
import { UrlText } from "../../../look/UrlText";
import { StateWord } from "../../../look/Word";
import { withParameters } from "../../address";
import { Pager } from "../../hosts/Pager";
import { useCrawl } from "../context";
import { InspectRow } from "../InspectRow";
import { commandOf, type PageList } from "./lists";
import type { FoundPages } from "./usePages";

const REFUSED = 409; // too many URLs for a request, or no links were kept

interface Props {
  list: PageList;
  found: FoundPages;
  sitemaps: readonly Sitemap[]; // as far as they are here
}

/** Pages that only sitemaps list, or that only links lead to. */
export function ListedPages({ list, found: { data, error, again }, sitemaps }: Props) {
  const { id } = useCrawl();
  if (!data && error) {
    return asProblem(error).status === REFUSED ? (
      <NotTold message={asProblem(error).message} command={commandOf(id, list)} />
    ) : (
      <Failure error={error} what="The pages cannot be read" retry={again} />
    );
  }
  if (!data) return <Loading what="pages" />;
  if (data.total === 0) return <None list={list} />;
  return (
    <>
      <Table list={list} pages={data.urls} sitemaps={sitemaps} partly={data.total > data.urls.length} />
      <Pager next={data.next === null ? null : String(data.next)} />
    </>
  );
}

const PARTLY = "only a page of them is here";

function Table({ list, pages, sitemaps, partly }: TableProps) {
  const urls = new Map(sitemaps.map(({ id, url }) => [id, url]));
  const places = {
    url: ({ url }) => url,
    state: ({ state }) => state,
    sitemap: ({ sitemap }) => (sitemap === null ? null : (urls.get(sitemap) ?? String(sitemap))),
  } satisfies Record<string, Place<ListedPage>>;
  const { rows, ordering } = useOwnOrder<ListedPage, keyof typeof places>(pages, places, null, partly ? PARTLY : "");
  const listed = list === "unlinked";
  return (
    <div className="overflow-x-auto rounded border border-line">
      <Grid
        wide
        caption={`Pages that only ${listed ? "sitemaps list" : "links lead to"}; Enter opens one`}
        className="table-fixed"
      >
        <Head
          columns={[
            { name: "URL", plain: true, sort: "url" },
            { name: "State", plain: true, width: "w-36", sort: "state" },
            ...(listed ? [{ name: "Sitemap", width: "w-80", sort: "sitemap" }] : []),
          ]}
          ordering={ordering}
        />
        <tbody>
          {rows.map((row) => (
            <InspectRow key={row.id} url={row.id}>
              <td className="main">
                <UrlText url={row.url} />
              </td>
              <td>
                <StateWord state={row.state} />
              </td>
              {listed && (
                <td>{row.sitemap !== null && <UrlText url={urls.get(row.sitemap) ?? `number ${row.sitemap}`} />}</td>
              )}
            </InspectRow>
          ))}
        </tbody>
      </Grid>
    </div>
  );
}

interface TableProps {
  list: PageList;
  pages: readonly ListedPage[];
  sitemaps: readonly Sitemap[];
  partly: boolean;
}

/** Nothing is missing: what the other list says. */
function None({ list }: { list: PageList }) {
  const [search] = useSearchParams();
  const listed = list === "unlinked";
  const other = withParameters(search, { list: listed ? "unlisted" : "unlinked", after: null });
  return (
    <Empty
      title={listed ? "Every page that a sitemap lists is linked, too." : "Sitemaps list every page that was found."}
    >
      <p>
        {listed
          ? "Pages that a sitemap lists and that no page of this crawl links to appear here."
          : "Visited pages that links lead to, of hosts with sitemaps that do not list them, appear here."}
      </p>
      <Link to={{ search: other.toString() }} className="link">
        {listed ? "Pages that only links lead to" : "Pages that only sitemaps list"}
      </Link>
    </Empty>
  );
}

function NotTold({ message, command }: { message: string; command: string }) {
  return (
    <Empty title={`It is not told here: ${message}.`}>
      {message.includes("content.edges") ? (
        <p>
          A crawl with <code>content.edges</code> keeps links, as most profiles have it: run it again with that.
        </p>
      ) : (
        <p>
          On the command line: <code>{command}</code>
        </p>
      )}
    </Empty>
  );
}
