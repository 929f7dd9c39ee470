const LINES_MAX = 5000; // of a robots.txt of 100 KB; more makes the page slow and helps nobody

export interface Lines {
  lines: string[];
  left: number; // that are not shown
}

/** Every kind of line end that servers send. */
export function linesOf(text: string): Lines {
  const all = text.replace(/(\r\n|\r|\n)$/, "").split(/\r\n|\r|\n/);
  return { lines: all.slice(0, LINES_MAX), left: Math.max(0, all.length - LINES_MAX) };
}
