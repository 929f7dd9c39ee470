import type { ReactNode, RefObject } from "react";
import { Button } from "../../look/Button";
import { MiniMap } from "./MiniMap";
import type { Stage } from "./stage";

interface Props {
  box: RefObject<HTMLDivElement | null>;
  under: RefObject<HTMLCanvasElement | null>;
  veil: RefObject<HTMLCanvasElement | null>;
  label: string;
  stage: Stage | null;
  pictured: boolean;
  children?: ReactNode; // over it: while there is no picture
}

/** The place of the picture. Its layers belong to the renderer; React owns only the box around them. */
export function Canvas({ box, under, veil, label, stage, pictured, children }: Props) {
  return (
    <div className="relative h-[60dvh] min-h-80 min-w-0 flex-1 overflow-hidden rounded border border-line bg-ground @3xl:h-[calc(100dvh-15rem)] @3xl:min-h-96">
      <div role="img" aria-label={label} className="absolute inset-0">
        <canvas ref={under} className="pointer-events-none absolute inset-0 size-full" />
        <div ref={box} className="absolute inset-0" />
        <canvas ref={veil} className="pointer-events-none absolute inset-0 size-full" />
      </div>
      {stage && pictured && (
        <>
          <div className="absolute top-2 right-2 flex flex-col gap-1">
            <Button aria-label="Zoom in" onClick={() => stage.picture.zoom(true)}>
              +
            </Button>
            <Button aria-label="Zoom out" onClick={() => stage.picture.zoom(false)}>
              –
            </Button>
          </div>
          <MiniMap stage={stage} />
        </>
      )}
      {children && <div className="absolute inset-x-4 top-4 max-w-xl">{children}</div>}
    </div>
  );
}
