import { useEffect, useRef, useState } from "react";
import type { View } from "./address";
import { keyOf } from "./fold";
import type { Stage } from "./stage";

/** The camera goes where the address says when the picture begins, and to a focus once: growth never moves it. */
export function useCamera(stage: Stage | null, view: View, near: ReadonlySet<string> | null, pictured: boolean): void {
  const [first] = useState(view.node);
  useEffect(() => {
    if (stage && first !== null) stage.aim({ node: first });
  }, [stage, first]);
  useEffect(() => stage?.picture.choose(view.node === null ? null : keyOf(view.node)), [stage, view.node]);
  const done = useRef("");
  useEffect(() => {
    const wanted = near && pictured ? `${view.focus} ${view.steps}` : "";
    if (!stage || wanted === done.current) return;
    done.current = wanted;
    if (near && wanted) stage.picture.fit([...near]);
  }, [stage, near, pictured, view.focus, view.steps]);
}
