/** Discs that lie over each other are pushed apart, as little as that takes. */

export interface Disc {
  x: number;
  y: number;
  radius: number;
}

const GAP = 1.06; // between the middles of two discs that touch, of the sum of their radii
const PASSES = 40;
const ROUNDS = 30;
const CLOSER = 0.06;
const ENOUGH = 0.02; // of a radius: an overlap that nobody sees

/** In place. Discs that are `held` stay where they are. */
export function spread(discs: readonly Disc[], held: (place: number) => boolean = () => false): void {
  const order = discs.map((_, place) => place);
  for (let pass = 0; pass < PASSES; pass++) {
    order.sort((a, b) => left(discs[a]) - left(discs[b]));
    if (!pushed(discs, order, held)) return;
  }
}

const left = (disc: Disc | undefined) => (disc ? disc.x - GAP * disc.radius : 0);

/** By their left ends only near ones are compared: 5,000 pages take milliseconds. */
function pushed(discs: readonly Disc[], order: readonly number[], held: (place: number) => boolean): boolean {
  let any = false;
  for (const [at, place] of order.entries()) {
    const disc = discs[place];
    if (!disc) continue;
    const right = disc.x + GAP * disc.radius;
    for (let next = at + 1; next < order.length; next++) {
      const otherPlace = order[next] ?? -1;
      const other = discs[otherPlace];
      if (!other || left(other) > right) break;
      any = apart(disc, other, held(place), held(otherPlace)) || any;
    }
  }
  return any;
}

function apart(a: Disc, b: Disc, aHeld: boolean, bHeld: boolean): boolean {
  if (aHeld && bHeld) return false;
  const wanted = GAP * (a.radius + b.radius);
  let [dx, dy] = [b.x - a.x, b.y - a.y];
  const distance = Math.hypot(dx, dy);
  if (distance >= wanted - ENOUGH * Math.min(a.radius, b.radius)) return false;
  if (distance === 0) [dx, dy] = [1e-6, 1e-6];
  const push = (wanted - distance) / Math.max(distance, 1e-6);
  // The lighter one moves more: a page does not push a folder around.
  const [heavy, light] = [a.radius ** 2, b.radius ** 2];
  const share = aHeld ? 0 : bHeld ? 1 : light / (heavy + light);
  const step = Math.min(push, wanted / Math.max(distance, 1e-6));
  a.x -= dx * step * share;
  a.y -= dy * step * share;
  b.x += dx * step * (1 - share);
  b.y += dy * step * (1 - share);
  return true;
}

/** Pulls them together, and lets none over another: who is beside whom stays. */
export function gathered(discs: readonly Disc[]): void {
  for (let round = 0; round < ROUNDS; round++) {
    const weight = discs.reduce((all, { radius }) => all + radius ** 2, 0) || 1;
    const x = discs.reduce((all, disc) => all + disc.x * disc.radius ** 2, 0) / weight;
    const y = discs.reduce((all, disc) => all + disc.y * disc.radius ** 2, 0) / weight;
    for (const disc of discs) {
      disc.x += (x - disc.x) * CLOSER;
      disc.y += (y - disc.y) * CLOSER;
    }
    spread(discs);
  }
}

/** Moves and scales them into the disc around 0 with radius 1. */
export function fitted(discs: readonly Disc[]): Disc[] {
  let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y, radius } of discs) {
    west = Math.min(west, x - radius);
    east = Math.max(east, x + radius);
    south = Math.min(south, y - radius);
    north = Math.max(north, y + radius);
  }
  const [x, y] = [(west + east) / 2, (south + north) / 2];
  const reach = discs.reduce((most, disc) => Math.max(most, Math.hypot(disc.x - x, disc.y - y) + disc.radius), 0);
  const scale = INNER / Math.max(reach, 1e-9);
  return discs.map((disc) => ({ x: (disc.x - x) * scale, y: (disc.y - y) * scale, radius: disc.radius * scale }));
}

const INNER = 0.94; // of a disc; the rest keeps what lies in it off its edge
