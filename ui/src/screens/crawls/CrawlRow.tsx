import type { MouseEvent } from "react";
import { Link, useNavigate } from "react-router";
import type { Crawl } from "../../api/types";
import { onEnter } from "../../keys/rows";
import { StateBar } from "../../look/Bars";
import { Button } from "../../look/Button";
import { CrawlCalled } from "../../look/CrawlCalled";
import { Moment } from "../../look/Moment";
import { CrawlWord } from "../../look/Word";
import { bytes, count, duration } from "../../words/format";
import { isOver } from "../../words/states";
import { errorsOf, progressOf, reasonOf } from "./list";
import { PaceCell } from "./PaceCell";

interface Props {
  crawl: Crawl;
  left: boolean; // held in place although the list has it no more
  live: boolean; // its rate and end are asked for
  onPurge: ((crawl: Crawl) => void) | null;
}

/** A click on a link or button is theirs, and marking text is no click. */
function opens(event: MouseEvent<HTMLElement>): boolean {
  const target = event.target instanceof Element ? event.target : null;
  return !target?.closest("a, button") && !window.getSelection()?.toString();
}

export function CrawlRow({ crawl, left, live, onPurge }: Props) {
  const navigate = useNavigate();
  const to = `/crawls/${crawl.id}`;
  const errors = errorsOf(crawl);
  return (
    <tr
      tabIndex={-1}
      onKeyDown={onEnter(() => navigate(to))}
      onClick={(event) => opens(event) && navigate(to)}
      className="cursor-pointer outline-offset-[-2px]"
    >
      <td className="number">
        <Link to={to} className="link">
          {crawl.id}
        </Link>
      </td>
      <td className="main w-full max-w-0">
        <CrawlCalled crawl={crawl} />
      </td>
      <td>{left ? <span className="text-dim whitespace-nowrap">left this list</span> : <State crawl={crawl} />}</td>
      <td>
        <Ended crawl={crawl} />
      </td>
      <PaceCell crawl={crawl.id} live={live && !left} running={crawl.status === "running" && !left} />
      <td>
        <Moment at={crawl.created_at} relative />
      </td>
      <td className="number whitespace-nowrap">{duration(crawl.active_ms)}</td>
      <td className="number whitespace-nowrap">{bytes(crawl.bytes)}</td>
      <td className="number" title={errors.kinds}>
        {count(errors.all)}
      </td>
      <td className="w-14 py-0.5!">
        {onPurge && isOver(crawl.status) && !left && (
          <Button
            kind="quiet"
            aria-label={`Delete crawl ${crawl.id}`}
            className="px-1! py-0! font-normal"
            onClick={() => onPurge(crawl)}
          >
            Delete
          </Button>
        )}
      </td>
    </tr>
  );
}

function State({ crawl }: { crawl: Crawl }) {
  const reason = reasonOf(crawl);
  return (
    <div className="w-26">
      <CrawlWord state={crawl.status} />
      {reason && (
        <div className="truncate text-dim" title={reason}>
          {reason}
        </div>
      )}
    </div>
  );
}

function Ended({ crawl }: { crawl: Crawl }) {
  return (
    <div className="flex w-32 flex-col gap-1">
      <span className="truncate font-mono tabular-nums">{progressOf(crawl)}</span>
      <StateBar counts={crawl.states} thin />
    </div>
  );
}
