import { asProblem } from "../../api/problem";
import { Chosen } from "./Chosen";
import { Folds } from "./Folds";
import type { GraphData } from "./graphData";
import { Legend } from "./Legend";
import { contents } from "./sentences";
import type { Shown } from "./useScene";
import type { Address } from "./useView";

interface Props {
  data: GraphData;
  shown: Shown;
  address: Address;
  layout: string; // in words; "": there is no picture
  onCentre: (id: number) => void;
  onOpen: (group: string) => void;
}

/** Beside the picture: what is in it, what the colours mean, and the chosen node with its neighbours. */
export function About({ data, shown, address, layout, onCentre, onOpen }: Props) {
  const { view, set } = address;
  const { folded, scene, look, legend } = shown;
  const chosen = view.node === null ? undefined : data.nodeOf(view.node);
  const lines = contents({
    nodes: data.nodes.length,
    drawn: scene.items.length,
    hidden: look.hidden.size,
    lines: scene.edges.weights.length,
    shown: scene.edges.weights.reduce((all, weight) => all + weight, 0),
    weaker: scene.all.weights.length - scene.edges.weights.length,
    inside: scene.all.inside,
    all: scene.all.weights.reduce((all, weight) => all + weight, scene.all.inside),
    grouped: folded.areas.length > 0,
    kind: view.kind,
    cut: data.cut,
    linksCut: data.linksCut,
    linksRead: data.linksRead,
    links: data.links.count,
  });
  return (
    <aside aria-label="About the graph" className="flex min-w-0 flex-col gap-3">
      <div>
        <p>{lines.join("; ")}.</p>
        {layout && <p className="text-dim">{layout}</p>}
        {data.error !== null && (
          <p role="alert" className="text-warn">
            The last reading failed: {asProblem(data.error).message}. What is shown is as it was; it is read again.
          </p>
        )}
      </div>
      {chosen && <Chosen data={data} folded={folded} node={chosen} address={address} onCentre={onCentre} />}
      {view.node !== null && !chosen && <p role="status">URL {view.node} is not in this graph.</p>}
      <Folds
        folded={folded}
        nodes={data.nodes.length}
        open={view.open}
        onOpen={onOpen}
        onChange={(open) => set({ open })}
      />
      <Legend
        entries={legend}
        hidden={view.hidden}
        colour={view.colour}
        kind={view.kind}
        grouped={folded.areas.length > 0}
        onChange={(hidden) => set({ hidden })}
      />
    </aside>
  );
}
