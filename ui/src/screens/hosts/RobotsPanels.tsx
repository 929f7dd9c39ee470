import { api } from "../../api/client";
import { Moment } from "../../look/Moment";
import { Panel } from "../../look/Panel";
import { Empty, Failure, Loading } from "../../look/States";
import { count, many } from "../../words/format";
import { Countdown } from "./Countdown";
import { accessWords } from "./delays";
import { linesOf } from "./lines";
import { RobotsTrial } from "./RobotsTrial";
import type { RobotsText } from "./types";

const AGAIN_MS = 30_000; // it changes once a day

/** The robots.txt of each origin of the host. */
export function RobotsPanels({ host }: { host: string }) {
  const { data, error, refetch, dataUpdatedAt } = api.useQuery(
    "get",
    "/api/v1/hosts/{host}/robots",
    { params: { path: { host } } },
    { refetchInterval: AGAIN_MS },
  );
  if (!data && error) return <Failure error={error} what="Its robots.txt cannot be read" retry={refetch} />;
  if (!data) return <Loading what="robots.txt" />;
  const first = data.robots[0];
  return (
    <>
      {!first && (
        <Empty title="No robots.txt was asked for yet.">
          <p>A crawl that obeys robots.txt asks for it before the first page of the host.</p>
        </Empty>
      )}
      {data.robots.map((robots) => (
        <OneRobots key={robots.origin} robots={robots} readAt={dataUpdatedAt} />
      ))}
      <RobotsTrial origin={first?.origin ?? `https://${host}`} text={first?.text ?? ""} />
    </>
  );
}

function OneRobots({ robots, readAt }: { robots: RobotsText; readAt: number }) {
  return (
    <Panel title={`robots.txt of ${robots.origin}`}>
      <dl className="mb-3 flex flex-wrap gap-x-6 gap-y-1">
        <Fact name="Status" value={robots.status === null ? "no answer" : String(robots.status)} />
        <Fact name="Access" value={accessWords(robots.access)} />
        <div className="flex gap-1.5">
          <dt className="text-dim">Fetched</dt>
          <dd>
            <Moment at={robots.fetched_at} />
          </dd>
        </div>
        <div className="flex gap-1.5">
          <dt className="text-dim">Expires in</dt>
          <dd>
            <Countdown inMs={robots.expires_in_ms} readAt={readAt} over="over: asked again with the next page" />
          </dd>
        </div>
        {robots.failures > 0 && <Fact name="Failures in a row" value={count(robots.failures)} />}
        {robots.detail && <Fact name="Detail" value={robots.detail} />}
      </dl>
      {robots.text ? (
        <Text text={robots.text} origin={robots.origin} truncated={robots.truncated} />
      ) : (
        <p className="text-dim">It has no text.</p>
      )}
    </Panel>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div className="flex gap-1.5">
      <dt className="text-dim">{name}</dt>
      <dd className="wrap-anywhere">{value}</dd>
    </div>
  );
}

function Text({ text, origin, truncated }: { text: string; origin: string; truncated: boolean }) {
  const { lines, left } = linesOf(text);
  return (
    <>
      <section
        aria-label={`Text of ${origin}/robots.txt`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        className="max-h-96 overflow-auto rounded border border-line bg-ground"
      >
        <pre className="py-1 font-mono">
          {lines.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <span key={at} className="flex gap-3 pr-3">
              <span aria-hidden className="w-10 shrink-0 text-right text-dim select-none">
                {at + 1}
              </span>
              <span>{line}</span>
            </span>
          ))}
        </pre>
      </section>
      {left > 0 && <p className="mt-1 text-dim">{many(left, "further line")} not shown.</p>}
      {truncated && <p className="mt-1 text-dim">The file goes on: its beginning is shown.</p>}
    </>
  );
}
