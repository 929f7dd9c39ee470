import { Link } from "react-router";
import type { Crawl, SearchResult } from "../../api/types";
import { Moment } from "../../look/Moment";
import { UrlText } from "../../look/UrlText";
import { hostPath, inspectorOf } from "../address";
import { webAddress } from "../urls/safe";
import { useCrawlNames } from "./CrawlChoice";
import { titleOf } from "./sentences";

interface Props {
  results: readonly SearchResult[];
  offset: number;
  old: boolean; // of the question before
}

export function Results({ results, offset, old }: Props) {
  const { crawls } = useCrawlNames();
  const called = new Map(crawls.map((crawl) => [crawl.id, crawl]));
  return (
    <ol
      start={offset + 1}
      aria-label="Results"
      aria-busy={old}
      className={`flex max-w-4xl flex-col gap-4 ${old ? "opacity-60" : ""}`}
    >
      {results.map((result) => (
        <li key={`${result.crawl_id} ${result.url_id}`} className="flex min-w-0 flex-col gap-0.5">
          <Result result={result} crawl={called.get(result.crawl_id)} />
        </li>
      ))}
    </ol>
  );
}

function Result({ result, crawl }: { result: SearchResult; crawl: Crawl | undefined }) {
  const { crawl_id, url_id, host, fetched_at, snippet } = result;
  return (
    <>
      <h3 className="min-w-0 font-semibold">
        <Link to={inspectorOf(crawl_id, url_id)} className="link line-clamp-2 wrap-anywhere">
          <bdi>{titleOf(result)}</bdi>
        </Link>
      </h3>
      <Original url={result.url} />
      {snippet.length > 0 && <Snippet parts={snippet} />}
      <p className="flex min-w-0 flex-wrap gap-x-3 text-dim">
        <Link to={hostPath(host)} title={`the host ${host}`} className="link max-w-full truncate font-mono">
          {host}
        </Link>
        <Link to={`/crawls/${crawl_id}`} title={crawl?.root_url} className="link">
          crawl {crawl_id}
          {crawl?.name && `: ${crawl.name}`}
        </Link>
        <span>
          fetched <Moment at={fetched_at} />
        </span>
      </p>
    </>
  );
}

/** The page itself, elsewhere. */
function Original({ url }: { url: string }) {
  const address = webAddress(url);
  if (!address) return <UrlText url={url} />;
  return (
    <a href={address} target="_blank" rel="noreferrer noopener" className="min-w-0 hover:underline">
      <UrlText url={url} />
    </a>
  );
}

/** Crawled text: its parts are text, and what turns the direction of writing ends with them. */
function Snippet({ parts }: { parts: SearchResult["snippet"] }) {
  return (
    <bdi className="line-clamp-4 block wrap-anywhere">
      {parts.map(({ text, match }, at) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change, and their place is what tells them apart
        match ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
      )}
    </bdi>
  );
}
