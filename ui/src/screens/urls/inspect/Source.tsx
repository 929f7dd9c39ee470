import { useState } from "react";
import { client } from "../../../api/client";
import { asProblem } from "../../../api/problem";
import type { UrlDetail } from "../../../api/types";
import { Button } from "../../../look/Button";
import { notice } from "../../../look/Notice";
import { Empty, Loading } from "../../../look/States";
import { bytes } from "../../../words/format";
import { saveBlob } from "../save";
import { ArchiveFailure, NotArchived, useArchived } from "./archived";
import { SourceText } from "./SourceText";

/** The body as it came, as text. */
export function Source({ crawl, detail }: { crawl: string; detail: UrlDetail }) {
  const { data, error, refetch } = useArchived(crawl, detail);
  if (!detail.archive_file) return <NotArchived detail={detail} />;
  if (!data) return error ? <ArchiveFailure error={error} retry={refetch} /> : <Loading what="the source" />;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="text-dim">
          {bytes(data.body_bytes)}
          {data.charset ? `, ${data.charset}` : ""}
        </span>
        <SaveRaw crawl={crawl} id={detail.id} />
      </div>
      {data.truncated && (
        <p className="rounded border border-warn bg-warn-ground px-2 py-1 text-warn">
          Only the first 2 MB are shown. “Save raw” has all of it.
        </p>
      )}
      {data.body === null && (
        <Empty title="It is no text.">
          <p>“Save raw” has its bytes.</p>
        </Empty>
      )}
      {data.body === "" && <Empty title="The body is empty." />}
      {data.body && <SourceText key={detail.id} text={data.body} />}
    </div>
  );
}

/** Not under its own name and type: what was crawled is data, nothing to be opened by a click. */
function SaveRaw({ crawl, id }: { crawl: string; id: number }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const { data } = await client.GET("/api/v1/crawls/{crawl}/urls/{url_id}/page/raw", {
        params: { path: { crawl, url_id: id } },
        parseAs: "blob",
      });
      if (data) saveBlob(data as Blob, `crawl-${crawl}-url-${id}.raw`);
    } catch (error) {
      notice(`Not saved: ${asProblem(error).message}`);
    }
    setBusy(false);
  };
  return (
    <Button busy={busy} onClick={save}>
      Save raw
    </Button>
  );
}
