import { type FormEvent, useState } from "react";
import { client, queries } from "../../api/client";
import { asProblem, type Problem } from "../../api/problem";
import type { CrawlDetail } from "../../api/types";
import { Button } from "../../look/Button";
import { Dialog } from "../../look/Dialog";
import { Field } from "../../look/Field";
import { notice } from "../../look/Notice";
import { Failure } from "../../look/States";
import { labelsOf } from "../crawls/new/draft";
import { LABELS_HELP, NAME_CHARS_MAX, NAME_HELP } from "../crawls/new/NamingFields";

interface Props {
  id: string;
  detail: CrawlDetail;
  onClose: () => void;
}

/** Changes what people call a crawl. What is crawled stays as it is. */
export function NamingDialog({ id, detail, onClose }: Props) {
  const [name, setName] = useState(detail.name);
  const [labels, setLabels] = useState(detail.labels.join(" "));
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const wrong = (field: string) => (problem?.field?.split(".")[0] === field ? problem.message : "");
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const where = { params: { path: { crawl: id } } };
      await client.PATCH("/api/v1/crawls/{crawl}", {
        ...where,
        body: { name: name.trim(), labels: labelsOf(labels) },
      });
      notice(`crawl ${detail.id} is called so now`);
      onClose();
      await queries.invalidateQueries();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Name and labels of crawl ${detail.id}`} onClose={onClose}>
      <form onSubmit={send} noValidate className="flex flex-col gap-4">
        {problem && !wrong("name") && !wrong("labels") && <Failure error={problem} what="It was not changed" />}
        <Field label="Name" help={NAME_HELP} error={wrong("name")}>
          {(attributes) => (
            <input
              {...attributes}
              value={name}
              maxLength={NAME_CHARS_MAX}
              autoComplete="off"
              onChange={(event) => setName(event.target.value)}
              className="input"
            />
          )}
        </Field>
        <Field label="Labels" help={LABELS_HELP} error={wrong("labels")}>
          {(attributes) => (
            <input
              {...attributes}
              value={labels}
              autoComplete="off"
              spellCheck={false}
              autoCapitalize="none"
              onChange={(event) => setLabels(event.target.value)}
              className="input font-mono"
            />
          )}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" kind="primary" busy={busy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
