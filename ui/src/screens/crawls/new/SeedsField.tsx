import { type ChangeEvent, useEffect, useRef, useState } from "react";
import { Field } from "../../../look/Field";
import { bytes, many } from "../../../words/format";
import { seedsFit } from "./draft";
import { SEEDS } from "./refusal";
import { withSeeds } from "./seeds";
import type { CrawlForm } from "./useCrawlForm";

const HELP =
  "URLs or bare domains: one per line, or with spaces or commas between. Lines that begin with # are passed over.";

const FILE_INPUT =
  "text-dim file:mr-2 file:rounded file:border file:border-line-strong file:bg-raised file:px-2 file:py-1 file:text-text";
const FILE_BYTES_MAX = 10_000_000; // some 100,000 seeds, the most that a request may have

export function SeedsField({ form }: { form: CrawlForm }) {
  const { draft, seeds, refusal } = form;
  const area = useRef<HTMLTextAreaElement>(null);
  const empty = useRef(draft.seeds === "");
  useEffect(() => {
    // The one thing that is always to be filled in.
    if (empty.current) area.current?.focus();
  }, []);
  return (
    <div className="relative">
      <Field label="Seeds" help={HELP} error={refusal?.place === SEEDS ? refusal.message : ""}>
        {(attributes) => (
          <textarea
            {...attributes}
            ref={area}
            name={SEEDS}
            rows={5}
            value={draft.seeds}
            placeholder={"https://example.com/\nexample.org"}
            spellCheck={false}
            autoCapitalize="none"
            onChange={(event) => form.change({ seeds: event.target.value }, SEEDS)}
            className="input font-mono"
          />
        )}
      </Field>
      <SeedsFile onRead={(text) => form.change({ seeds: withSeeds(draft.seeds, text) }, SEEDS)} />
      <p className="absolute top-0 right-0 text-dim tabular-nums">{many(seeds.length, "seed")}</p>
      {!seedsFit(seeds) && (
        <p className="mt-1 text-warn">
          Too many for the address: a reload forgets them, and a link does not have them.
        </p>
      )}
    </div>
  );
}

/** Adds the lines of a file to the seeds. It is read here: what is sent is what the field shows. */
function SeedsFile({ onRead }: { onRead: (text: string) => void }) {
  const [problem, setProblem] = useState("");
  const read = async ({ target }: ChangeEvent<HTMLInputElement>) => {
    const file = target.files?.[0];
    if (!file) return;
    const tooLarge = file.size > FILE_BYTES_MAX;
    setProblem(tooLarge ? `${file.name} has more than ${bytes(FILE_BYTES_MAX)}: use nephila crawl --seeds FILE` : "");
    if (!tooLarge) {
      const text = await textOf(file);
      if (text === null || text.includes("\0"))
        setProblem(`${file.name} ${text === null ? "cannot be read" : "is no text"}`);
      else onRead(text);
    }
    target.value = ""; // the same file can be chosen again
  };
  return (
    <div className="mt-1 flex flex-wrap items-center gap-2">
      <label className="flex flex-wrap items-center gap-2">
        <span>Seeds of a file</span>
        <input type="file" accept=".txt,.csv,.list,text/plain,text/csv" onChange={read} className={FILE_INPUT} />
      </label>
      {problem && (
        <p role="alert" className="text-danger">
          {problem}
        </p>
      )}
    </div>
  );
}

/** null: it cannot be read. */
function textOf(file: File): Promise<string | null> {
  return new Promise((tell) => {
    const reader = new FileReader();
    reader.onload = () => tell(String(reader.result));
    reader.onerror = () => tell(null);
    reader.readAsText(file);
  });
}
