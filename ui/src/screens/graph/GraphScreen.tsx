import { useEffect, useRef, useState } from "react";
import { JsonLink } from "../../look/Page";
import { isOver } from "../../words/states";
import { useCrawl } from "../crawl/context";
import { About } from "./About";
import type { Change } from "./address";
import { Canvas } from "./Canvas";
import { clicked, doubleClicked, found, openedBy } from "./choices";
import { FindBox } from "./FindBox";
import type { Found } from "./find";
import { useGraphData } from "./follow";
import { Instead } from "./Instead";
import { layoutWords, pictureLabel } from "./sentences";
import { Toolbar, ViewButtons } from "./Toolbar";
import { useCamera } from "./useCamera";
import { useScene } from "./useScene";
import { useStage, useStageState } from "./useStage";
import { useView } from "./useView";

/** The discovery tree and the link graph of a crawl, as they grow. */
export default function GraphScreen() {
  const { id, live: line, detail } = useCrawl();
  const live = !isOver(line.progress?.state ?? detail.status);
  const address = useView();
  const { view, go } = address;
  const [attempt, setAttempt] = useState(0);
  const data = useGraphData(id, { kind: view.kind, every: view.every, over: !live, attempt });
  const shown = useScene(data, view);
  const { folded, scene, look, legend, palette, near } = shown;

  const act = (change: Change | null) => change && go(change);
  const item = (key: string) => scene.items.find((each) => each.key === key);
  const box = useRef<HTMLDivElement>(null);
  const under = useRef<HTMLCanvasElement>(null);
  const veil = useRef<HTMLCanvasElement>(null);
  const { stage, drawn } = useStage(box, under, veil, {
    click: (key) => act(clicked(item(key))),
    doubleClick: (key) => {
      const name = item(key)?.fold?.name;
      if (name !== undefined) show(name);
      else act(doubleClicked(item(key)));
    },
    clickStage: () => act(view.node === null ? null : { node: null }),
  });
  const { pictured, settled, added } = useStageState(stage);
  const ready = data.nodesRead && data.nodes.length > 0;
  const held = view.kind === "links" && !data.linksRead;
  useEffect(() => {
    if (ready) stage?.show(scene, look, palette, { kind: view.kind, live, held });
  }, [stage, ready, scene, look, palette, view.kind, live, held]);
  useCamera(stage, view, near, pictured);
  const centre = (node: number) => stage?.aim({ node });
  const show = (name: string) => {
    go(openedBy(name, view));
    stage?.aim({ group: name });
  };
  const choose = (choice: Found) => {
    if (choice.kind === "fold") return show(choice.name);
    go(found(choice.id, view, folded, data.indexOf(choice.id)));
    centre(choice.id);
  };

  const order = scene.items.length;
  const label = pictureLabel(view.kind, order, scene.edges.weights.length, view.colour, legend);
  return (
    <section aria-label="Graph" className="@container flex min-w-0 flex-col gap-3 p-4">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Toolbar address={address} live={live} />
        <JsonLink path={`/api/v1/crawls/${encodeURIComponent(id)}/graph?kind=${view.kind}`} />
        <ViewButtons added={added} order={order} onTidy={() => stage?.tidy()} onFit={() => stage?.fit()} />
      </div>
      <div className="flex min-w-0 flex-col gap-3 @3xl:flex-row">
        <Canvas box={box} under={under} veil={veil} stage={stage} pictured={pictured} label={label}>
          <Instead
            data={data}
            drawn={drawn}
            pictured={pictured}
            total={line.progress?.total ?? null}
            over={!live}
            retry={() => setAttempt(attempt + 1)}
          />
        </Canvas>
        {/* Beside the picture, not over it: the list of what is found must not cover what one looks for it in. */}
        <div className="flex min-w-0 flex-col gap-3 @3xl:w-72 @3xl:shrink-0">
          <FindBox data={data} groups={folded.groups} onChoose={choose} />
          {ready && (
            <About
              data={data}
              shown={shown}
              address={address}
              layout={drawn === "ready" ? layoutWords(settled, live, view.every) : ""}
              onCentre={centre}
              onOpen={show}
            />
          )}
        </div>
      </div>
    </section>
  );
}
