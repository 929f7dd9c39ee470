/**
 * A node with its neighbours above everything else, which is dimmed. It is drawn on a canvas of its own: the cost is
 * that of the neighbourhood, not of the graph, so that the pointer can go over 50,000 nodes.
 */

import { apart } from "./apart";
import { faded, type Palette } from "./colours";

export interface Spot {
  x: number;
  y: number;
  radius: number;
  colour: string;
  label: string;
  width: number; // px of the line to it
}

export interface Highlight {
  centre: Spot;
  near: readonly Spot[]; // the important ones first
  chosen: boolean;
}

const VEIL = 0.78;
const LABELS_MAX = 25;
export const LABEL_FONT = "12px system-ui, sans-serif";
const ROUND = 2 * Math.PI;

export function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

function dot(context: CanvasRenderingContext2D, spot: Spot): void {
  context.fillStyle = spot.colour;
  context.beginPath();
  context.arc(spot.x, spot.y, Math.max(spot.radius, 2), 0, ROUND);
  context.fill();
}

/** Text on a plate of the ground: it can be read above whatever lies there. */
export function plate(
  context: CanvasRenderingContext2D,
  spot: Pick<Spot, "x" | "y" | "radius" | "label">,
  palette: Palette,
): void {
  if (!spot.label) return;
  const left = spot.x + spot.radius + 4;
  const width = context.measureText(spot.label).width;
  context.fillStyle = faded(palette.ground, 0.85);
  context.fillRect(left - 2, spot.y - 8, width + 4, 16);
  context.fillStyle = palette.text;
  context.fillText(spot.label, left, spot.y + 4);
}

export function drawHighlight(
  context: CanvasRenderingContext2D,
  { width, height }: { width: number; height: number },
  { centre, near, chosen }: Highlight,
  palette: Palette,
): void {
  context.fillStyle = faded(palette.ground, VEIL);
  context.fillRect(0, 0, width, height);
  context.strokeStyle = palette.line;
  for (const [width, spots] of byWidth(near)) {
    context.lineWidth = width;
    context.beginPath();
    for (const spot of spots) {
      context.moveTo(centre.x, centre.y);
      context.lineTo(spot.x, spot.y);
    }
    context.stroke();
  }
  for (const spot of near) dot(context, spot);
  dot(context, centre);
  if (chosen) ring(context, centre, palette);
  context.font = `600 ${LABEL_FONT}`;
  const named = [centre, ...near.slice(0, LABELS_MAX)].map((spot) => ({ ...spot, size: spot.radius }));
  for (const spot of apart(named, (text) => context.measureText(text).width)) {
    plate(context, spot, palette);
    context.font = LABEL_FONT; // the first one is what is pointed at
  }
}

/** One stroke for all lines of a width: 2,000 strokes would be felt. */
function byWidth(spots: readonly Spot[]): Map<number, Spot[]> {
  const found = new Map<number, Spot[]>();
  for (const spot of spots) {
    const width = Math.max(1, Math.round(spot.width));
    const same = found.get(width);
    if (same) same.push(spot);
    else found.set(width, [spot]);
  }
  return found;
}

function ring(context: CanvasRenderingContext2D, spot: Spot, palette: Palette): void {
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(spot.x, spot.y, Math.max(spot.radius, 2) + 3, 0, ROUND);
  context.stroke();
}
