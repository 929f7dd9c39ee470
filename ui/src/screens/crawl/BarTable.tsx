import type { ReactNode } from "react";
import { Link } from "react-router";
import { Meter } from "../../look/Bars";
import { Grid } from "../../look/Grid";
import { Head } from "../../look/Head";
import { Panel } from "../../look/Panel";
import { count, percent } from "../../words/format";
import { type Part, partsOf } from "./breakdown";

interface Props {
  title: string;
  of: string; // the name of the first column
  counts: Readonly<Record<string, number>>;
  unit?: string; // what is counted
  nothing: string;
  limit?: number;
  byCount?: boolean;
  say?: (name: string) => string;
  to?: (name: string) => string; // the list behind a line
  actions?: ReactNode;
}

/** A small table of counts, each with its share as a bar. */
export function BarTable(props: Props) {
  const { title, of, unit = "URLs", counts, nothing, limit = 8, byCount = true, say, to, actions } = props;
  const parts = partsOf(counts, limit, byCount);
  if (parts.length === 0) {
    return (
      <Panel title={title} actions={actions}>
        <p className="text-dim">{nothing}</p>
      </Panel>
    );
  }
  const all = parts.reduce((sum, part) => sum + part.count, 0);
  const largest = Math.max(...parts.map((part) => part.count));
  return (
    <Panel title={title} actions={actions} flush>
      <Grid>
        <Head columns={[{ name: of }, { name: unit, number: true }, { name: "Share" }]} />
        <tbody>
          {parts.map((part) => {
            const text = part.rest ? `${part.rest} others` : (say?.(part.name) ?? part.name);
            return (
              <tr key={part.name}>
                <td className="max-w-48">
                  <Name part={part} text={text} to={to} />
                </td>
                <td className="number w-20">{count(part.count)}</td>
                <td className="w-24 align-middle">
                  <Meter part={part.count} all={largest} label={`${text}: ${percent(part.count, all)}`} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </Grid>
    </Panel>
  );
}

function Name({ part, text, to }: { part: Part; text: string; to: Props["to"] }) {
  if (!to || part.rest) {
    return (
      <span title={text} className="block truncate">
        {text}
      </span>
    );
  }
  return (
    <Link to={to(part.name)} title={text} className="link block truncate">
      {text}
    </Link>
  );
}
