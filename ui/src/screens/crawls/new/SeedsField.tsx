import { useEffect, useRef } from "react";
import { Field } from "../../../look/Field";
import { many } from "../../../words/format";
import { seedsFit } from "./draft";
import { SEEDS } from "./refusal";
import type { CrawlForm } from "./useCrawlForm";

const HELP =
  "URLs or bare domains: one per line, or with spaces or commas between. Lines that begin with # are passed over.";

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
      <p className="absolute top-0 right-0 text-dim tabular-nums">{many(seeds.length, "seed")}</p>
      {!seedsFit(seeds) && (
        <p className="mt-1 text-warn">
          Too many for the address: a reload forgets them, and a link does not have them.
        </p>
      )}
    </div>
  );
}
