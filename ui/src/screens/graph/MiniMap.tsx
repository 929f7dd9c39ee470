import { useEffect, useRef } from "react";
import { type Frame, frameOf, fromMap, type Size, seen, toMap } from "./minimap";
import { fitted } from "./overlay";
import type { Stage } from "./stage";

const SIZE: Size = { width: 160, height: 120 };
const REDRAW_MS = 500;

/** All nodes as dots, and what is seen of them. The dots are drawn twice a second at most; the frame follows at once. */
export function MiniMap({ stage }: { stage: Stage }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rectangle = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const map = canvas.current;
    if (!map) return;
    let frame: Frame | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const mark = () => {
      const view = stage.picture.view();
      const style = rectangle.current?.style;
      if (!frame || !view || !style) return;
      for (const [name, value] of Object.entries(seen(frame, view, SIZE))) style.setProperty(name, `${value}px`);
    };
    const draw = () => {
      timer = undefined;
      frame = drawDots(map, stage);
      mark();
    };
    const rendered = () => {
      mark();
      timer ??= setTimeout(draw, REDRAW_MS);
    };
    const clicked = (event: MouseEvent) => {
      if (!frame) return;
      const { x, y } = fromMap(frame, event.offsetX, event.offsetY);
      stage.picture.pan(x, y);
    };
    draw();
    const quiet = stage.onRender(rendered);
    map.addEventListener("click", clicked);
    return () => {
      quiet();
      clearTimeout(timer);
      map.removeEventListener("click", clicked);
    };
  }, [stage]);
  return (
    <div className="absolute right-2 bottom-2 hidden overflow-hidden rounded border border-line bg-ground @md:block">
      <canvas
        ref={canvas}
        role="img"
        aria-label="Map of the whole graph; a click goes there"
        title="Click to go there"
        className="block cursor-pointer"
        style={SIZE}
      />
      <div ref={rectangle} aria-hidden className="pointer-events-none absolute border border-accent" />
    </div>
  );
}

function drawDots(map: HTMLCanvasElement, stage: Stage): Frame | null {
  const extent = stage.picture.extent();
  const context = fitted(map, SIZE.width, SIZE.height);
  if (!extent || !context) return null;
  const frame = frameOf(extent, SIZE);
  stage.picture.dots((x, y, colour) => {
    const place = toMap(frame, x, y);
    context.fillStyle = colour;
    context.fillRect(place.x - 0.5, place.y - 0.5, 1.25, 1.25);
  });
  return frame;
}
