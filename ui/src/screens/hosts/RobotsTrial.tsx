import { type FormEvent, useState } from "react";
import { api } from "../../api/client";
import { asProblem } from "../../api/problem";
import { Button } from "../../look/Button";
import { Field } from "../../look/Field";
import { Panel } from "../../look/Panel";
import { duration, many } from "../../words/format";
import type { Tried } from "./types";

const AGENT_CHARS_MAX = 500;
const SITEMAPS_SHOWN = 10;
const FIELDS = ["urls", "agent", "text"] as const;

interface Props {
  origin: string;
  text: string; // of its robots.txt, as far as it is known
}

/** Tries a text for URLs and a crawler's name, by the parser and the matcher of the crawler: nothing is asked for. */
export function RobotsTrial({ origin, text: known }: Props) {
  const [urls, setUrls] = useState(`${origin}/`);
  const [agent, setAgent] = useState("");
  const [text, setText] = useState(known);
  const { mutate, data, error, isPending } = api.useMutation("post", "/api/v1/robots/trial");
  const problem = error ? asProblem(error) : null;
  const field = FIELDS.find((name) => problem?.field?.startsWith(name));
  const wrong = (name: string) => (field === name ? problem?.message : null);

  const send = (event: FormEvent) => {
    event.preventDefault();
    mutate({ body: { text, urls: urls.split(/\s+/).filter(Boolean), agent: agent.trim() || null } });
  };

  return (
    <Panel title="Try a robots.txt">
      <form onSubmit={send} noValidate className="flex flex-col gap-3">
        <Field label="URLs to try" help="One per line." error={wrong("urls")}>
          {(attributes) => (
            <textarea
              {...attributes}
              rows={2}
              spellCheck={false}
              value={urls}
              onChange={(event) => setUrls(event.target.value)}
              className="input font-mono"
            />
          )}
        </Field>
        <Field
          label="Crawler"
          help="Its name or User-Agent; * is any that no group names; empty is this server's own."
          error={wrong("agent")}
        >
          {(attributes) => (
            <input
              {...attributes}
              maxLength={AGENT_CHARS_MAX}
              autoComplete="off"
              spellCheck={false}
              value={agent}
              onChange={(event) => setAgent(event.target.value)}
              className="input max-w-80 font-mono"
            />
          )}
        </Field>
        <Field
          label="Text"
          help="Change it to see what would follow. Nothing is sent to the host."
          error={wrong("text")}
        >
          {(attributes) => (
            <textarea
              {...attributes}
              rows={8}
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
              className="input font-mono"
            />
          )}
        </Field>
        {problem && !field && (
          <p role="alert" className="text-danger">
            {problem.message}
          </p>
        )}
        <div>
          <Button kind="primary" type="submit" busy={isPending}>
            Try it
          </Button>
        </div>
      </form>
      <div role="status">{data && !problem && <Verdicts tried={data} />}</div>
    </Panel>
  );
}

function Verdicts({ tried }: { tried: Tried }) {
  const lines = tried.group_lines.length > 0 ? ` (line ${tried.group_lines.join(", ")})` : "";
  const more = tried.sitemaps.length - SITEMAPS_SHOWN;
  return (
    <div className="mt-4 flex flex-col gap-2">
      <ul className="flex flex-col gap-1">
        {tried.urls.map((each, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same URL may be given twice
          <li key={at} className="flex flex-wrap gap-x-3">
            <span className={`w-24 font-medium ${each.allowed ? "" : "text-danger"}`}>
              {each.allowed ? "allowed" : "disallowed"}
            </span>
            <span className="font-mono wrap-anywhere">{each.url}</span>
            <span className="text-dim wrap-anywhere">{each.detail}</span>
          </li>
        ))}
      </ul>
      <p>
        Group of {tried.agent}: {tried.group ? `${tried.group}${lines}` : "none, so everything is allowed"}.
        {tried.crawl_delay_ms !== null && ` Crawl-delay ${duration(tried.crawl_delay_ms)}.`}
      </p>
      {tried.parked && <p className="text-danger">The host would be left alone: {tried.parked}.</p>}
      {tried.cut && <p className="text-dim">The text is longer than is read of a robots.txt.</p>}
      {tried.sitemaps.length > 0 && (
        <p className="text-dim wrap-anywhere">
          Sitemaps: {tried.sitemaps.slice(0, SITEMAPS_SHOWN).join(", ")}
          {more > 0 && ` and ${many(more, "more", "more")}`}
        </p>
      )}
    </div>
  );
}
