/** The names in the picture: those of the largest first, and none over another. */
import { apart, type Named } from "./apart";
import type { Palette } from "./colours";
import { LABEL_FONT, plate } from "./overlay";

/** Gathers what the renderer wants to name in a frame, and draws it at the end of the frame. */
export class LabelLayer {
  private names: Named[] = [];
  private context: CanvasRenderingContext2D | null = null;

  add(context: CanvasRenderingContext2D, name: Named): void {
    this.context = context;
    this.names.push(name);
  }

  draw(palette: Palette): void {
    const { context, names } = this;
    this.names = [];
    if (!context) return;
    context.font = LABEL_FONT;
    const width = (text: string) => context.measureText(text).width;
    const largest = names.sort((a, b) => b.size - a.size);
    for (const { x, y, size, label } of apart(largest, width)) plate(context, { x, y, radius: size, label }, palette);
  }
}
