/** Level of detail: from far away the strongest edges of all, from near those of what is seen. */
import { type Bundles, linesMax, strongest } from "./edges";
import type { Extent } from "./extent";
import { type Scene, thinned } from "./scene";

const NEAR = 0.7; // share of the items: if fewer are seen, the lines are theirs

type PlaceOf = (key: string) => { x: number; y: number } | null;

export function seenItems({ items }: Scene, view: Extent, placeOf: PlaceOf): Uint8Array {
  const inside = (value: number, [from, to]: [number, number]) =>
    value >= Math.min(from, to) && value <= Math.max(from, to);
  return Uint8Array.from(items, (item) => {
    const place = placeOf(item.key);
    return place && inside(place.x, view.x) && inside(place.y, view.y) ? 1 : 0;
  });
}

export function edgesFor(scene: Scene, view: Extent, placeOf: PlaceOf): Bundles {
  if (!thinned(scene)) return scene.edges;
  const seen = seenItems(scene, view, placeOf);
  const many = seen.reduce((all, each) => all + each, 0);
  if (many >= NEAR * scene.items.length) return scene.edges;
  const order = scene.items.length;
  return strongest(scene.all, order, linesMax(order, scene.areas.length > 0), seen);
}
