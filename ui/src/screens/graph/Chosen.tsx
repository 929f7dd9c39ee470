import { useMemo } from "react";
import { Link } from "react-router";
import type { GraphNode } from "../../api/types";
import { Button } from "../../look/Button";
import { Panel } from "../../look/Panel";
import { UrlText } from "../../look/UrlText";
import { StateWord } from "../../look/Word";
import { count, many } from "../../words/format";
import { type Kind, STEPS_MAX } from "./address";
import { revealing } from "./choices";
import type { Folded } from "./fold";
import type { GraphData } from "./graphData";
import { labelOf } from "./labels";
import { neighboursOf } from "./neighbours";
import type { Address } from "./useView";

const LISTED_MAX = 100;
const STEPS = Array.from({ length: STEPS_MAX }, (_, place) => place + 1);

const NAMES: Record<Kind, { into: string; out: string; none: string }> = {
  discovery: { into: "Found on", out: "Found there", none: "nothing" },
  links: { into: "Links in", out: "Links out", none: "none known" },
};

interface Props {
  data: GraphData;
  folded: Folded;
  node: GraphNode;
  address: Address;
  onCentre: (id: number) => void;
}

/** The chosen node and its neighbourhood as lists: the graph for those who cannot, or do not want to, use the picture. */
export function Chosen({ data, folded, node, address, onCentre }: Props) {
  const { view, go, link } = address;
  const { kind } = view;
  const { version } = data;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what the data hold
  const { into, out } = useMemo(() => neighboursOf(data, node.id, kind), [data, version, node.id, kind]);
  const names = NAMES[kind];
  const list = (nodes: readonly GraphNode[], title: string) => (
    <NodeList
      title={title}
      nodes={nodes}
      none={names.none}
      to={(id) => link({ node: id, inspect: id, open: revealing(view.open, folded, data.indexOf(id)) })}
      onCentre={onCentre}
    />
  );
  return (
    <Panel title="Chosen node" actions={<Button onClick={() => go({ node: null })}>Clear</Button>}>
      <div className="flex flex-col gap-2">
        <div className="min-w-0">
          {node.title && <p className="truncate font-medium">{node.title}</p>}
          <UrlText url={node.url} wrap />
          <p className="flex flex-wrap gap-x-3">
            <StateWord state={node.state} />
            {node.status !== null && <span className="font-mono">{node.status}</span>}
            <span className="text-dim">depth {node.depth}</span>
          </p>
        </div>
        <Actions id={node.id} address={address} />
        {list(into, names.into)}
        {list(out, names.out)}
      </div>
    </Panel>
  );
}

function Actions({ id, address: { view, go, set, link } }: { id: number; address: Address }) {
  const focused = view.focus === id;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Link to={link({ inspect: id })} className="link">
        Inspect
      </Link>
      {focused ? (
        <Button onClick={() => go({ focus: null })}>Show all</Button>
      ) : (
        <Button onClick={() => go({ focus: id })} title="Show only what is near it">
          Focus
        </Button>
      )}
      {focused && (
        <label className="flex items-center gap-1.5">
          within
          <select
            value={view.steps}
            onChange={(event) => set({ steps: Number(event.target.value) })}
            className="input w-auto"
          >
            {STEPS.map((steps) => (
              <option key={steps} value={steps}>
                {many(steps, "step")}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

interface NodeListProps {
  title: string;
  nodes: readonly GraphNode[];
  none: string;
  to: (id: number) => string;
  onCentre: (id: number) => void;
}

function NodeList({ title, nodes, none, to, onCentre }: NodeListProps) {
  const more = nodes.length - LISTED_MAX;
  return (
    <div>
      <h3 className="text-dim">
        {title} <span className="font-mono tabular-nums">{count(nodes.length)}</span>
      </h3>
      {nodes.length === 0 && <p>{none}</p>}
      <ul className="max-h-48 overflow-y-auto">
        {nodes.slice(0, LISTED_MAX).map((node) => (
          <li key={node.id} className="flex gap-2">
            <Link
              to={to(node.id)}
              onClick={() => onCentre(node.id)}
              title={node.url}
              className="link min-w-0 flex-1 truncate"
            >
              {labelOf(node) || node.url}
            </Link>
            <StateWord state={node.state} />
          </li>
        ))}
      </ul>
      {more > 0 && <p className="text-dim">and {count(more)} more: inspect it to see them all</p>}
    </div>
  );
}
