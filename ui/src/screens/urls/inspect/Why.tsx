import { keepPreviousData } from "@tanstack/react-query";
import { api, LIVE_MS } from "../../../api/client";
import type { Explanation, UrlRow } from "../../../api/types";
import { Head } from "../../../look/Head";
import { Failure, Loading } from "../../../look/States";
import { GoodWord } from "../../../look/Word";
import { count, dateTime, words } from "../../../words/format";
import { OPEN } from "../../../words/states";
import { HostParts } from "./HostParts";
import { Chain, Fact, Facts, Part } from "./Parts";
import { RobotsPart } from "./RobotsPart";

/** The decisions about a URL, from the sentence to everything it rests on. */
export function Why({ crawl, url }: { crawl: string; url: string }) {
  const { data, error, refetch, dataUpdatedAt } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/explain",
    { params: { path: { crawl }, query: { url } } },
    {
      placeholderData: keepPreviousData,
      refetchInterval: ({ state }) => (state.data?.row && OPEN.has(state.data.row.state) ? LIVE_MS : false),
    },
  );
  if (!data) return error ? <Failure error={error} what="No explanation" retry={refetch} /> : <Loading what="why" />;
  return <Trail known={data as Explanation} at={dataUpdatedAt} />; // the client's types lose that pairs are pairs
}

function Trail({ known, at }: { known: Explanation; at: number }) {
  return (
    <div className="flex flex-col gap-4">
      <p className="text-title break-words">{known.verdict}</p>
      <Found known={known} />
      {known.redirects.length > 0 && (
        <Part title="Where it leads">
          <Chain label="Redirects" urls={known.redirects} />
        </Part>
      )}
      <Rules rules={known.rules} />
      {known.robots && <RobotsPart robots={known.robots} at={at} />}
      <HostParts known={known} at={at} />
      <Refusals refusals={known.refusals} />
    </div>
  );
}

const FOUND_BY: Partial<Record<UrlRow["kind"], string>> = { requisite: "needs", sitemap: "lists" };
const foundBy = ({ kind }: UrlRow) => FOUND_BY[kind] ?? "links to";

function Found({ known: { row, parents, sitemap } }: { known: Explanation }) {
  if (!row) return null;
  const seed = row.kind === "sitemap" ? "No other sitemap led to it." : "It is a seed: nothing led to it.";
  return (
    <Part title="How it was found" note={parents.length ? `from the page that ${foundBy(row)} it, up to the seed` : ""}>
      {parents.length ? <Chain label="Parents" urls={parents} /> : <p>{seed}</p>}
      <Facts>
        <Fact name="depth">{count(row.depth)}</Fact>
        <Fact name="link as seen">
          {row.kind !== "sitemap" && row.raw_url && row.raw_url !== row.url && (
            <span className="font-mono break-all">{row.raw_url}</span>
          )}
        </Fact>
        <Fact name="listed in">{sitemap && <span className="font-mono break-all">{sitemap.sitemap}</span>}</Fact>
        <Fact name="changed, by the sitemap">{sitemap?.lastmod && dateTime(sitemap.lastmod)}</Fact>
        <Fact name="priority, by the sitemap">{sitemap?.priority !== null && sitemap?.priority}</Fact>
        <Fact name="asked for as">{row.spelling && <span className="font-mono break-all">{row.spelling}</span>}</Fact>
      </Facts>
    </Part>
  );
}

function Rules({ rules }: { rules: Explanation["rules"] }) {
  return (
    <Part title="Rules" note="the first refusal ends the questions">
      <table className="grid-table">
        <Head columns={[{ name: "Rule" }, { name: "Verdict" }, { name: "Detail" }]} />
        <tbody>
          {rules.map(({ rule, passed, detail }) => (
            <tr key={rule}>
              <td>{rule}</td>
              <td>
                {passed === null ? (
                  <span className="text-dim">not asked</span>
                ) : (
                  <GoodWord good={passed} yes="passed" no="refused" />
                )}
              </td>
              <td className="break-words text-dim">{passed === null ? "" : detail}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}

function Refusals({ refusals }: { refusals: Explanation["refusals"] }) {
  if (!refusals.length) return null;
  return (
    <Part title="Links to this host that were refused">
      <Facts>
        {refusals.map(([reason, times]) => (
          <Fact key={reason} name={words(reason)}>
            <span className="font-mono tabular-nums">{count(times)}</span>
          </Fact>
        ))}
      </Facts>
    </Part>
  );
}
