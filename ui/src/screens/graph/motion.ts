/** Nodes on their way from where they stand to where a layout wants them. */

export const GENTLY_MS = 500;

export function calm(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

const eased = (share: number) => 1 - (1 - share) ** 3;

export class Motion {
  private frame = 0;

  /** `put` gets the places of every frame; the last one is exactly `to`. */
  start(from: Float32Array, to: Float32Array, put: (places: Float32Array) => void): void {
    this.stop();
    const began = performance.now();
    const now = new Float32Array(to.length);
    const step = () => {
      const share = Math.min(1, (performance.now() - began) / GENTLY_MS);
      if (share >= 1) return put(to);
      const part = eased(share);
      for (let at = 0; at < to.length; at++) {
        const start = from[at] ?? 0;
        now[at] = start + ((to[at] ?? 0) - start) * part;
      }
      put(now);
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
  }
}
