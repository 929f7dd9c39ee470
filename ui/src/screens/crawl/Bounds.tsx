import type { Progress } from "../../api/types";
import { Meter } from "../../look/Bars";
import { Grid } from "../../look/Grid";
import { type Column, Head } from "../../look/Head";
import { Panel } from "../../look/Panel";
import { count, duration, words } from "../../words/format";
import { Countdown } from "../hosts/Countdown";
import { HostLink } from "../hosts/HostLink";
import { type Bound, boundsOf } from "./needs";

const COLUMNS: readonly Column[] = [
  { name: "Host" },
  { name: "Queued", number: true, width: "w-20" },
  { name: "Delay", number: true, width: "w-18" },
  { name: "Needs", number: true, width: "w-28", title: "queued times delay: what politeness alone takes" },
  { name: "Next", number: true, width: "w-18", title: "its next request is allowed in" },
  { name: "State", width: "w-24" },
];

interface Props {
  progress: Progress | null;
  floorMs: number;
  readAt: number;
  over: boolean;
}

/** Hosts by queue x delay: what bounds the end. */
export function Bounds({ progress, floorMs, readAt, over }: Props) {
  const bounds = boundsOf(progress?.hosts ?? [], floorMs, progress?.resting ?? null);
  if (bounds.length === 0) {
    return (
      <Panel title="What bounds the end">
        <p className="text-dim">{over ? "It is over: nothing is queued." : "No host has anything queued now."}</p>
      </Panel>
    );
  }
  const longest = bounds[0]?.needMs ?? 0;
  return (
    <Panel title="What bounds the end" flush>
      <Grid className="table-fixed min-w-120">
        <Head columns={COLUMNS} />
        <tbody>
          {bounds.map((bound) => (
            <BoundRow key={bound.host} bound={bound} longest={longest} readAt={readAt} />
          ))}
        </tbody>
      </Grid>
    </Panel>
  );
}

function BoundRow({ bound, longest, readAt }: { bound: Bound; longest: number; readAt: number }) {
  const needs = duration(bound.needMs);
  return (
    <tr>
      <td>
        <HostLink host={bound.host} />
      </td>
      <td className="number">{count(bound.queued)}</td>
      <td className="number whitespace-nowrap">{duration(bound.delayMs)}</td>
      <td className="number whitespace-nowrap">
        {needs}
        <Meter part={bound.needMs} all={longest} label={`${bound.host} needs ${needs}`} />
      </td>
      <td className="number whitespace-nowrap">
        {bound.dueInMs === null ? "–" : <Countdown inMs={bound.dueInMs} readAt={readAt} />}
      </td>
      <td>
        <StandingWord bound={bound} />
      </td>
    </tr>
  );
}

const STANDING: Record<Bound["standing"], string> = {
  dead: "given up",
  rests: "rests",
  held: "in work",
  waits: "waits",
};

function StandingWord({ bound: { standing, why } }: { bound: Bound }) {
  const colour = { dead: "text-danger", rests: "text-warn", held: "", waits: "text-dim" }[standing];
  return (
    <span className={colour}>
      {STANDING[standing]}
      {why && `: ${words(why)}`}
    </span>
  );
}
