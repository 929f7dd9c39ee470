import { keepPreviousData } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api } from "../../../api/client";
import { asProblem } from "../../../api/problem";
import { differing } from "./fields";
import { delayWords } from "./holding";
import type { CrawlForm } from "./useCrawlForm";

const PAUSE_MS = 500; // of typing
const SEEDS_MAX = 100; // that the server takes

/** The delay that really holds at the hosts of the seeds, by what the server knows of them. */
export function HoldingDelay({ form }: { form: CrawlForm }) {
  const { seeds, draft, fields } = form;
  const planned = JSON.stringify({
    seeds: seeds.slice(0, SEEDS_MAX),
    profile: draft.profile,
    settings: differing(fields),
  });
  const body = JSON.parse(useSettled(planned));
  const enabled = body.seeds.length > 0;
  const { data, error } = api.useQuery(
    "post",
    "/api/v1/delays",
    { body },
    { enabled, placeholderData: keepPreviousData, retry: false },
  );
  if (!enabled) return null;
  if (error) return <p className="text-dim">The delay that will hold is not known: {asProblem(error).message}.</p>;
  if (!data) return null;
  return (
    <div className="text-dim">
      <p>What will hold{data.restrained && ", as hosts that are not your own are asked no faster"}:</p>
      <ul>
        {data.hosts.map((host) => (
          <li key={host.host} className="wrap-anywhere">
            <span className="font-mono">{host.host}</span>: {delayWords(host)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
