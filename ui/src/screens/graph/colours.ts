/** Colours of the picture, from the tokens of the page: light and dark follow by themselves. */
import type { UrlState } from "../../api/types";
import { token } from "../../look/theme";
import { STATES } from "../../words/states";

export const HOSTS_MAX = 8; // that can be told apart
export const DEPTHS_MAX = 9; // beyond it everything is "deeper"

/** From the seed outwards, through the colours of the rainbow. */
const DEPTH_SERIES = [1, 7, 3, 5, 2, 6];

export interface Palette {
  states: Record<UrlState, string>;
  hosts: readonly string[];
  depths: readonly string[]; // up to DEPTHS_MAX
  other: string;
  ground: string;
  text: string;
  dim: string;
  line: string;
  accent: string;
}

type Rgb = [number, number, number];

export function rgb(hex: string): Rgb {
  const long = /^#[0-9a-f]{3}$/i.test(hex) ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(long);
  const part = (place: number) => Number.parseInt(found?.[place] ?? "80", 16);
  return [part(1), part(2), part(3)];
}

export function mixed(from: string, to: string, share: number): string {
  const [a, b] = [rgb(from), rgb(to)];
  const part = (place: 0 | 1 | 2) =>
    Math.round(a[place] + (b[place] - a[place]) * share)
      .toString(16)
      .padStart(2, "0");
  return `#${part(0)}${part(1)}${part(2)}`;
}

export function faded(hex: string, alpha: number): string {
  return `rgba(${rgb(hex).join(",")},${alpha})`;
}

/** A colour between the stops, for a share of the way from the first to the last. */
export function between(stops: readonly string[], share: number): string {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const before = Math.floor(place);
  return mixed(stops[before] ?? "", stops[before + 1] ?? stops[before] ?? "", place - before);
}

export function paletteOf(read: (name: string) => string = token): Palette {
  const stops = DEPTH_SERIES.map((number) => read(`series-${number}`));
  return {
    states: Object.fromEntries(STATES.map((state) => [state, read(`state-${state}`)])) as Palette["states"],
    hosts: Array.from({ length: HOSTS_MAX }, (_, place) => read(`series-${place + 1}`)),
    depths: Array.from({ length: DEPTHS_MAX + 1 }, (_, depth) => between(stops, depth / DEPTHS_MAX)),
    other: read("state-queued"),
    ground: read("ground"),
    text: read("text"),
    dim: read("dim"),
    line: read("line-strong"),
    accent: read("accent"),
  };
}
