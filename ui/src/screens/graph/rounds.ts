/** Opened groups as circles below the picture, with their names: they tell what lies in what. */
import type Sigma from "sigma";
import { faded, type Palette } from "./colours";
import type { Dot, Line } from "./drawing";
import { fitted, LABEL_FONT, plate } from "./overlay";
import type { Round } from "./rooms";

const ROUND = 2 * Math.PI;
const LABEL_FROM = 40; // px of a circle that has its name on it

/** The circles, below everything. */
export function drawRounds(
  canvas: HTMLCanvasElement,
  renderer: Sigma<Dot, Line>,
  rounds: readonly Round[],
  palette: Palette,
): void {
  const { width, height } = renderer.getDimensions();
  const context = fitted(canvas, width, height);
  if (!context) return;
  context.lineWidth = 1;
  for (const round of rounds) {
    const { middle, reach } = onScreen(renderer, round);
    context.fillStyle = faded(palette.line, 0.07);
    context.strokeStyle = faded(palette.line, 0.6);
    context.beginPath();
    context.arc(middle.x, middle.y, reach, 0, ROUND);
    context.fill();
    context.stroke();
  }
}

/** Their names, above everything: lines would hide them. */
export function nameRounds(
  canvas: HTMLCanvasElement,
  renderer: Sigma<Dot, Line>,
  rounds: readonly Round[],
  palette: Palette,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  context.font = `600 ${LABEL_FONT}`;
  for (const round of rounds) {
    const { middle, reach } = onScreen(renderer, round);
    if (reach < LABEL_FROM) continue;
    const half = context.measureText(round.label).width / 2;
    const spot = { x: middle.x - half - 4, y: middle.y - reach, radius: 0, label: round.label };
    plate(context, spot, palette);
  }
}

function onScreen(renderer: Sigma<Dot, Line>, { x, y, radius }: Round) {
  const middle = renderer.graphToViewport({ x, y });
  const edge = renderer.graphToViewport({ x: x + radius, y });
  return { middle, reach: Math.abs(edge.x - middle.x) };
}
