import { Link } from "react-router";
import type { Progress } from "../../api/types";
import { Meter } from "../../look/Bars";
import { Panel } from "../../look/Panel";
import { count, duration, words } from "../../words/format";
import { hostPath } from "../hosts/address";
import { Countdown } from "../hosts/Countdown";
import { type Bound, boundsOf } from "./needs";

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
      <table className="grid-table table-fixed min-w-120">
        <thead>
          <tr>
            <th scope="col">Host</th>
            <th scope="col" className="w-20 text-right">
              Queued
            </th>
            <th scope="col" className="w-18 text-right">
              Delay
            </th>
            <th scope="col" title="queued times delay: what politeness alone takes" className="w-28 text-right">
              Needs
            </th>
            <th scope="col" title="its next request is allowed in" className="w-18 text-right">
              Next
            </th>
            <th scope="col" className="w-24">
              State
            </th>
          </tr>
        </thead>
        <tbody>
          {bounds.map((bound) => (
            <BoundRow key={bound.host} bound={bound} longest={longest} readAt={readAt} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function BoundRow({ bound, longest, readAt }: { bound: Bound; longest: number; readAt: number }) {
  const needs = duration(bound.needMs);
  return (
    <tr>
      <td>
        <Link to={hostPath(bound.host)} title={bound.host} className="link block truncate font-mono">
          {bound.host}
        </Link>
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
