import { Link, useNavigate, useSearchParams } from "react-router";
import type { Change, Difference } from "../../../api/types";
import { onEnter } from "../../../keys/rows";
import { Grid } from "../../../look/Grid";
import { Head } from "../../../look/Head";
import { noneOf, type Place, useOwnOrder } from "../../../look/ordering";
import { JsonLink } from "../../../look/Page";
import { Empty, Failure } from "../../../look/States";
import { UrlText } from "../../../look/UrlText";
import { StateWord } from "../../../look/Word";
import { WrongAddress } from "../../../look/WrongAddress";
import { count } from "../../../words/format";
import { withParameters } from "../../address";
import { useCrawlNames } from "../../search/CrawlChoice";
import { crawlName } from "../../search/sentences";
import { useCrawl } from "../context";
import { InspectRow } from "../InspectRow";
import { CHANGES, changeWords, type Found, KEPT, progressWords, summary } from "./comparison";
import { useComparison } from "./useComparison";

const CRAWL = /^(\d{1,18}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i; // a number or a uuid

/** What has changed since another crawl: `?since=3&change=gone`. */
export function CompareScreen() {
  const { id } = useCrawl();
  const [search] = useSearchParams();
  const since = search.get("since") ?? "";
  const change = search.get("change");
  const wrong = [
    ...(change && !CHANGES.some((known) => known === change) ? [noneOf("change", change, CHANGES)] : []),
    ...(since && !CRAWL.test(since) ? [`since: “${since}” is no crawl: give its number`] : []),
  ];
  return (
    <section className="flex min-w-0 flex-col gap-3 p-4">
      <h2 className="sr-only">Compare</h2>
      <div className="flex flex-wrap items-center gap-2">
        <Choice since={since} />
        {since && <JsonLink path={`/api/v1/crawls/${encodeURIComponent(since)}/differences?to=${id}`} />}
      </div>
      {wrong.length > 0 ? (
        <WrongAddress wrong={wrong} />
      ) : since ? (
        <Compared key={since} first={since} second={id} />
      ) : (
        <Empty title="Choose the crawl that came before.">
          <p>
            You see which URLs were added since, which are gone, which ended otherwise, and which have another content.
          </p>
          <p>
            On the command line: <code>nephila compare A B</code>
          </p>
        </Empty>
      )}
    </section>
  );
}

function Choice({ since }: { since: string }) {
  const { detail } = useCrawl();
  const { crawls } = useCrawlNames();
  const [, setSearch] = useSearchParams();
  const others = crawls.filter((crawl) => crawl.id !== detail.id);
  const choose = (chosen: string) =>
    setSearch((before) => withParameters(before, { since: chosen || null, change: null, inspect: null, tab: null }));
  return (
    <label className="flex min-w-0 items-center gap-2">
      Since
      <select value={since} onChange={(event) => choose(event.target.value)} className="input min-w-0">
        <option value="">no crawl</option>
        {since && !others.some((crawl) => String(crawl.id) === since) && <option value={since}>crawl {since}</option>}
        {others.map((crawl) => (
          <option key={crawl.id} value={crawl.id}>
            {crawlName(crawl)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Compared({ first, second }: { first: string; second: string }) {
  const { found, error, again } = useComparison(first, second);
  const [search] = useSearchParams();
  const asked = CHANGES.find((change) => change === search.get("change"));
  const shown = asked ?? CHANGES.find((change) => found.counts[change] > 0) ?? "added";
  return (
    <>
      {error !== null && <Failure error={error} what="The crawls cannot be compared" retry={again} />}
      {!found.comparable && (
        <p role="note" className="rounded border border-line-strong p-3">
          These crawls normalise URLs differently: two spellings of one page may count as gone and added.{" "}
          <code>nephila compare</code> compares them in one normal form.
        </p>
      )}
      <p role="status" className="tabular-nums">
        {found.over ? summary(found, first) : progressWords(found)}
      </p>
      {!found.over && error === null && (
        <progress aria-label="compared" max={found.total || 1} value={found.lookedAt} className="w-full max-w-120" />
      )}
      <Kinds found={found} shown={shown} />
      <Differences found={found} change={shown} first={first} second={second} />
    </>
  );
}

function Kinds({ found, shown }: { found: Found; shown: Change }) {
  const [search] = useSearchParams();
  return (
    <nav aria-label="Kinds of differences">
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {CHANGES.map((change) => (
          <li key={change}>
            <Link
              to={`?${withParameters(search, { change })}`}
              aria-current={change === shown ? "true" : undefined}
              className={change === shown ? "font-semibold" : "link"}
            >
              {count(found.counts[change])} {changeWords(change)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const PARTLY = "only the first of them are here: nephila compare lists all";
const PLACES = {
  url: ({ url }) => url,
  first: ({ first }) => first?.state ?? null,
  second: ({ second }) => second?.state ?? null,
} satisfies Record<string, Place<Difference>>;

interface ListProps {
  found: Found;
  change: Change;
  first: string;
  second: string;
}

function Differences({ found, change, first, second }: ListProps) {
  const kept = found.kept[change];
  const all = found.counts[change];
  const partly = found.over ? (all > kept.length ? PARTLY : "") : "the crawls are still being compared";
  const { rows, ordering } = useOwnOrder(kept, PLACES, null, partly);
  if (all === 0) return found.over ? <p className="text-dim">No URL is {changeWords(change)}.</p> : null;
  return (
    <>
      <div className="overflow-x-auto rounded border border-line">
        <Grid wide caption={`URLs ${changeWords(change)}; Enter opens one`} className="table-fixed">
          <Head
            columns={[
              { name: "URL", plain: true, sort: "url" },
              { name: `In crawl ${first}`, width: "w-36", sort: "first" },
              { name: `In crawl ${second}`, width: "w-36", sort: "second" },
            ]}
            ordering={ordering}
          />
          <tbody>
            {rows.map((row) => (
              <Row key={row.url} row={row} first={first} />
            ))}
          </tbody>
        </Grid>
      </div>
      {all > rows.length && (
        <p className="text-dim">
          The first {count(KEPT)} of {count(all)}; <code>nephila compare {`${first} ${second}`}</code> lists all.
        </p>
      )}
    </>
  );
}

/** A URL that this crawl has opens in the inspector, one that is gone in the crawl that had it. */
function Row({ row, first }: { row: Difference; first: string }) {
  const navigate = useNavigate();
  const states = (
    <>
      <td>{row.first ? <StateWord state={row.first.state} /> : <span className="text-dim">–</span>}</td>
      <td>{row.second ? <StateWord state={row.second.state} /> : <span className="text-dim">–</span>}</td>
    </>
  );
  if (row.second) {
    return (
      <InspectRow url={row.second.id}>
        <td className="main">
          <UrlText url={row.url} />
        </td>
        {states}
      </InspectRow>
    );
  }
  const there = `/crawls/${first}/urls?inspect=${row.first?.id}`;
  return (
    <tr tabIndex={-1} onKeyDown={onEnter(() => navigate(there))}>
      <td className="main">
        <Link to={there} className="link block truncate">
          <UrlText url={row.url} />
        </Link>
      </td>
      {states}
    </tr>
  );
}
