import { keepPreviousData } from "@tanstack/react-query";
import { type RefObject, useRef } from "react";
import { Link, useSearchParams } from "react-router";
import { api, LIVE_MS } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { UrlDetail } from "../../api/types";
import { Button } from "../../look/Button";
import { Copy } from "../../look/Copy";
import { JsonLink } from "../../look/Page";
import { Empty, Failure, Loading } from "../../look/States";
import { UrlText } from "../../look/UrlText";
import { StateWord } from "../../look/Word";
import { OPEN } from "../../words/states";
import { Answer } from "./inspect/Answer";
import { Links } from "./inspect/Links";
import { Rendering } from "./inspect/Rendering";
import { Source } from "./inspect/Source";
import { TABS, type TabId, tabOf, withTab } from "./inspect/tabs";
import { HEADING, useEscape, useInspectorFocus } from "./inspect/useInspectorFocus";
import { Why } from "./inspect/Why";
import { reasonWords } from "./reasons";
import { webAddress } from "./safe";

interface Props {
  crawl: string;
  url: number;
  onClose: () => void;
}

/** Everything that is known of one URL. */
export function Inspector({ crawl, url, onClose }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEscape(onClose);
  useInspectorFocus(heading, url);
  const [search] = useSearchParams();
  const tab = tabOf(search);
  const { data, error, refetch, isPlaceholderData } = api.useQuery(
    "get",
    "/api/v1/crawls/{crawl}/urls/{url_id}",
    { params: { path: { crawl, url_id: url } } },
    {
      placeholderData: keepPreviousData,
      refetchInterval: ({ state }) => (state.data && OPEN.has(state.data.state) ? LIVE_MS : false),
    },
  );
  return (
    <section
      aria-labelledby={HEADING}
      aria-busy={isPlaceholderData}
      className="flex min-h-full min-w-0 flex-col bg-ground"
    >
      <Head crawl={crawl} heading={heading} detail={data} onClose={onClose} />
      <TabLinks tab={tab} />
      <div className="min-w-0 p-3">
        {data && <Shown tab={tab} crawl={crawl} detail={data} />}
        {!data && error && <Missing error={error} url={url} retry={refetch} />}
        {!data && !error && <Loading what="the URL" />}
      </div>
    </section>
  );
}

interface HeadProps {
  crawl: string;
  heading: RefObject<HTMLHeadingElement | null>;
  detail: UrlDetail | undefined;
  onClose: () => void;
}

function Head({ crawl, heading, detail, onClose }: HeadProps) {
  const original = detail && webAddress(detail.url);
  return (
    <header className="flex flex-col gap-1.5 p-3">
      <div className="flex items-start justify-between gap-2">
        <h2 id={HEADING} ref={heading} tabIndex={-1} className="line-clamp-6 min-w-0">
          {detail ? <UrlText url={detail.url} wrap /> : "URL"}
        </h2>
        <Button kind="quiet" onClick={onClose} aria-label="Close the inspector" title="Esc">
          Close
        </Button>
      </div>
      {detail && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <StateWord state={detail.state} />
          {detail.reason && <span>{reasonWords(detail.reason)}</span>}
          <span className="ml-auto flex items-center gap-2">
            <Copy text={detail.url} />
            {original && (
              <a href={original} target="_blank" rel="noreferrer noopener" className="link">
                open original
              </a>
            )}
            <JsonLink
              path={`/api/v1/crawls/${encodeURIComponent(crawl)}/explain?url=${encodeURIComponent(detail.url)}`}
            />
          </span>
        </div>
      )}
    </header>
  );
}

function TabLinks({ tab }: { tab: TabId }) {
  const [search] = useSearchParams();
  return (
    <nav aria-label="Of this URL" className="flex gap-1 overflow-x-auto border-b border-line px-2">
      {TABS.map(({ id, text }) => (
        <Link
          key={id}
          to={`?${withTab(search, id)}`}
          replace
          preventScrollReset
          aria-current={id === tab ? "page" : undefined}
          className={`-mb-px border-b-2 px-2 py-1.5 whitespace-nowrap ${id === tab ? "border-accent font-medium text-text" : "border-transparent text-dim hover:text-text"}`}
        >
          {text}
        </Link>
      ))}
    </nav>
  );
}

function Shown({ tab, crawl, detail }: { tab: TabId; crawl: string; detail: UrlDetail }) {
  switch (tab) {
    case "why":
      return <Why crawl={crawl} url={detail.url} />;
    case "answer":
      return <Answer crawl={crawl} detail={detail} />;
    case "links":
      return <Links crawl={crawl} detail={detail} />;
    case "source":
      return <Source crawl={crawl} detail={detail} />;
    case "rendering":
      return <Rendering crawl={crawl} detail={detail} />;
  }
}

function Missing({ error, url, retry }: { error: unknown; url: number; retry: () => void }) {
  if (asProblem(error).status !== 404) return <Failure error={error} what="The URL could not be had" retry={retry} />;
  return (
    <Empty title={`This crawl has no URL with the number ${url}.`}>
      <p>The crawl may have been purged, or the address is of another one. Close this and look in the list.</p>
    </Empty>
  );
}
