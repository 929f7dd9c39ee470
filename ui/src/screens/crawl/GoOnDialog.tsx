import { type FormEvent, useState } from "react";
import { client, queries } from "../../api/client";
import { asProblem } from "../../api/problem";
import type { CrawlDetail } from "../../api/types";
import { Button } from "../../look/Button";
import { Dialog } from "../../look/Dialog";
import { Field } from "../../look/Field";
import { notice } from "../../look/Notice";
import { parsed, type TuneField, textOf, valuesOf } from "./tune";

interface Props {
  id: string;
  detail: CrawlDetail;
  limit: TuneField; // that ended the crawl
  onClose: () => void;
}

/** Asks for a higher limit than the one that ended the crawl, and lets it go on. */
export function GoOnDialog({ id, detail, limit, onClose }: Props) {
  const [text, setText] = useState(() => textOf(limit, valuesOf(detail.settings)[limit.name] ?? null));
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    const typed = parsed(limit, text);
    setWrong(typed.wrong ?? "");
    if (typed.wrong !== undefined) return;
    setBusy(true);
    try {
      const where = { params: { path: { crawl: id } } };
      await client.POST("/api/v1/crawls/{crawl}/resume", { ...where, body: { [limit.name]: typed.value } });
      notice(`crawl ${detail.id} goes on`);
      onClose();
      await queries.invalidateQueries();
    } catch (error) {
      setWrong(asProblem(error).under(limit.label));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Go on with crawl ${detail.id}`} onClose={onClose}>
      <form onSubmit={send} noValidate className="flex flex-col gap-4">
        <p className="text-dim">
          It ended by this limit. With a higher one it goes on where it ended: nothing is asked for twice.
        </p>
        <Field label={limit.label} help={limit.help} error={wrong}>
          {(attributes) => (
            <input
              {...attributes}
              value={text}
              onChange={(event) => setText(event.target.value)}
              autoComplete="off"
              className="input font-mono"
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Go on
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
