import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { token, useTheme } from "./theme";

export interface Line {
  name: string;
  colour: string; // a token: "state-visited"
  values: readonly (number | null)[];
}

interface Props {
  label: string; // what it shows, with its unit
  times: readonly number[]; // ms
  lines: readonly Line[];
  format: (value: number) => string;
  height?: number;
  together?: string; // charts with the same word share a crosshair
}

const seconds = (ms: number) => ms / 1000;

const DAY_SECONDS = 86_400;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clockSeconds = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** One line, as exact as the distance of the ticks needs. */
export function clockWords(ticks: readonly number[]): (at: number) => string {
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  const words = step >= DAY_SECONDS ? day : step >= 60 ? clock : clockSeconds;
  return (at) => (at % 1 ? "" : words.format(at * 1000));
}

/** Values over time, one unit. The canvas is drawn anew only when its shape changes; data go in place. */
export function Chart({ label, times, lines, format, height = 120, together }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shown = useRef<uPlot.AlignedData>([[]]);
  const theme = useTheme();
  shown.current = [times.map(seconds), ...lines.map((line) => [...line.values])] as uPlot.AlignedData;
  const shape = lines.map((line) => `${line.name}:${line.colour}`).join("|");

  // biome-ignore lint/correctness/useExhaustiveDependencies: shape stands for the lines, theme for the tokens' values
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const axis = { stroke: token("dim"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false } };
    const options: uPlot.Options = {
      width: Math.max(element.clientWidth, 100),
      height,
      cursor: together ? { sync: { key: together } } : {},
      legend: { live: true },
      scales: { y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.1] } },
      axes: [
        { ...axis, size: 28, space: 80, values: (_, ticks) => ticks.map(clockWords(ticks)) },
        { ...axis, size: 56, values: (_, ticks) => ticks.map(format) },
      ],
      series: [
        { value: (_, at) => (at == null ? "–" : clockSeconds.format(at * 1000)) },
        ...lines.map((line) => ({
          label: line.name,
          stroke: token(line.colour),
          width: 1.5,
          points: { show: false },
          value: (_: uPlot, value: number | null) => (value == null ? "–" : format(value)),
        })),
      ],
    };
    const made = new uPlot(options, shown.current, element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, theme, height, together]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: new data arrive with these
  useEffect(() => plot.current?.setData(shown.current), [times, lines]);

  return <div ref={box} role="img" aria-label={label} className="min-w-0 overflow-hidden" />;
}
