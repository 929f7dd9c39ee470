/** The delay that holds at a host, and why. Pure. */
import type { components } from "../../../api/schema";
import { duration, words } from "../../../words/format";

type HostDelay = components["schemas"]["HostDelayView"];

const PARTS: Readonly<Record<string, string>> = {
  floor: "this setting",
  floor_of_all_crawls: "the global rate limit",
  crawl_delay: "its robots.txt asks for it",
  override: "an operator's rule for the host",
  adaptive: "it is slow, and the crawl adapts",
  slowdown: "it answered 429",
};

export function delayWords({ delay_ms, parts, asked }: HostDelay): string {
  const first = parts[0]?.name ?? "";
  const why = (Object.hasOwn(PARTS, first) && PARTS[first]) || words(first);
  const open = asked ? "" : "; longer if its robots.txt asks for it";
  return `${duration(delay_ms)} (${why}${open})`;
}
