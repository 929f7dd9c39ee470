import { type RefObject, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { paletteOf } from "./colours";
import type { Handlers } from "./picture";
import type { Stage, StageState } from "./stage";
import { hasWebgl } from "./webgl";

export type Drawn = "starting" | "ready" | "impossible";

interface Made {
  stage: Stage | null;
  drawn: Drawn;
}

/** The drawing code is loaded, and started, only where it can run. */
export function useStage(
  box: RefObject<HTMLElement | null>,
  under: RefObject<HTMLCanvasElement | null>,
  veil: RefObject<HTMLCanvasElement | null>,
  handlers: Omit<Handlers, "rendered" | "touched">,
): Made {
  const [made, setMade] = useState<Made>({ stage: null, drawn: "starting" });
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const began = performance.now();
    if (!hasWebgl()) return setMade({ stage: null, drawn: "impossible" });
    let gone = false;
    let stage: Stage | null = null;
    const start = async () => {
      const { Stage } = await import("./stage");
      if (gone || !box.current || !under.current || !veil.current) return;
      const heard = {
        click: (key: string) => latest.current.click(key),
        doubleClick: (key: string) => latest.current.doubleClick(key),
        clickStage: () => latest.current.clickStage(),
      };
      stage = new Stage(box.current, { under: under.current, over: veil.current }, heard, paletteOf(), began);
      setMade({ stage, drawn: "ready" });
    };
    start().catch(() => setMade({ stage: null, drawn: "impossible" }));
    return () => {
      gone = true;
      stage?.kill();
      setMade({ stage: null, drawn: "starting" });
    };
  }, [box, under, veil]);
  return made;
}

const NOTHING: StageState = { pictured: false, settled: false, added: 0 };
const never = () => () => undefined;

export function useStageState(stage: Stage | null): StageState {
  return useSyncExternalStore(stage?.subscribe ?? never, stage?.snapshot ?? (() => NOTHING));
}
