import { useState } from "react";
import { client } from "../../../api/client";
import { asProblem } from "../../../api/problem";
import { secret } from "../../../api/secret";
import { Button, buttonClass } from "../../../look/Button";
import { Copy } from "../../../look/Copy";
import { bytes } from "../../../words/format";
import { curlCommand, gathered, SAVED_BYTES_MAX, saveBlob, TooLarge } from "../save";
import { Menu } from "./Menu";
import { apiFilter, type Filter, queryString } from "./query";

const FORMATS = ["csv", "jsonl", "json"] as const;
type Format = (typeof FORMATS)[number];

const nameOf = (crawl: string, format: Format) => `crawl-${crawl}.${format}`;

function pathOf(crawl: string, filter: Filter, format: Format): string {
  return `/api/v1/crawls/${encodeURIComponent(crawl)}/export?${queryString({ format, ...apiFilter(filter) })}`;
}

/** Everything that the filters let through, not just this page. */
export function ExportMenu({ crawl, filter }: { crawl: string; filter: Filter }) {
  return (
    <Menu text="Export" right>
      <p className="mb-2 w-56 text-dim">All URLs that match the filters, in the order found.</p>
      {secret() ? <FetchedExport crawl={crawl} filter={filter} /> : <LinkedExport crawl={crawl} filter={filter} />}
    </Menu>
  );
}

function LinkedExport({ crawl, filter }: { crawl: string; filter: Filter }) {
  return (
    <div className="flex gap-2">
      {FORMATS.map((format) => (
        <a key={format} href={pathOf(crawl, filter, format)} download={nameOf(crawl, format)} className={buttonClass()}>
          {format.toUpperCase()}
        </a>
      ))}
    </div>
  );
}

async function fetchExport(crawl: string, filter: Filter, format: Format): Promise<void> {
  const { data } = await client.GET("/api/v1/crawls/{crawl}/export", {
    params: { path: { crawl }, query: { format, ...apiFilter(filter) } },
    parseAs: "stream",
  });
  if (data)
    saveBlob(await gathered(data as ReadableStream<Uint8Array<ArrayBuffer>>, SAVED_BYTES_MAX), nameOf(crawl, format));
}

function FetchedExport({ crawl, filter }: { crawl: string; filter: Filter }) {
  const [busy, setBusy] = useState<Format | null>(null);
  const [large, setLarge] = useState<Format | null>(null);
  const [problem, setProblem] = useState("");
  const run = async (format: Format) => {
    setBusy(format);
    setProblem("");
    setLarge(null);
    try {
      await fetchExport(crawl, filter, format);
    } catch (error) {
      if (error instanceof TooLarge) setLarge(format);
      else setProblem(asProblem(error).message);
    }
    setBusy(null);
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex gap-2">
        {FORMATS.map((format) => (
          <Button key={format} busy={busy === format} disabled={busy !== null} onClick={() => run(format)}>
            {format.toUpperCase()}
          </Button>
        ))}
      </div>
      {problem && (
        <p role="alert" className="w-56 text-danger">
          {problem}
        </p>
      )}
      {large && <Command crawl={crawl} filter={filter} format={large} />}
    </div>
  );
}

function Command({ crawl, filter, format }: { crawl: string; filter: Filter; format: Format }) {
  const text = curlCommand(window.location.origin, pathOf(crawl, filter, format), nameOf(crawl, format), true);
  return (
    <div role="status" className="w-72">
      <p>It is more than {bytes(SAVED_BYTES_MAX)}, too much for a browser. In a terminal:</p>
      <pre className="mt-1 overflow-x-auto rounded bg-panel p-2 font-mono">{text}</pre>
      <Copy text={text} />
    </div>
  );
}
