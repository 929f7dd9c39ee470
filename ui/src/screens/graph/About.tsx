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
}

/** Beside the picture: what is in it, what the colours mean, and the chosen node with its neighbours. */
export function About({ data, shown, address, layout, onCentre }: Props) {
  const { view, set } = address;
  const { folded, scene, look, legend } = shown;
  const chosen = view.node === null ? undefined : data.nodeOf(view.node);
  const lines = contents({
    nodes: data.nodes.length,
    drawn: scene.items.length,
    hidden: look.hidden.size,
    edges: scene.edges.weights.length,
    left: scene.edges.left,
    kind: view.kind,
    cut: data.cut,
    linksCut: data.linksCut,
    linksRead: data.linksRead,
    links: data.links.count,
  });
  return (
    <aside aria-label="About the graph" className="flex min-w-0 flex-col gap-3 @3xl:w-64 @3xl:shrink-0">
      <div>
        <p>{lines.join("; ")}.</p>
        {layout && <p className="text-dim">{layout}</p>}
        {data.error !== null && (
          <p role="alert" className="text-warn">
            The last reading failed: {asProblem(data.error).message}. What is shown is as it was; it is read again.
          </p>
        )}
      </div>
      <Folds folded={folded} nodes={data.nodes.length} open={view.open} onChange={(open) => set({ open })} />
      {chosen && <Chosen data={data} version={data.version} node={chosen} address={address} onCentre={onCentre} />}
      {view.node !== null && !chosen && <p role="status">URL {view.node} is not in this graph.</p>}
      <Legend
        entries={legend}
        hidden={view.hidden}
        colour={view.colour}
        kind={view.kind}
        onChange={(hidden) => set({ hidden })}
      />
    </aside>
  );
}
