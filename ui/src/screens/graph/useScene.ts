/** From the data and the address to what is drawn. Everything is computed anew only when its own sources change. */
import { useMemo, useRef } from "react";
import { useTheme } from "../../look/theme";
import type { View } from "./address";
import { type Palette, paletteOf } from "./colours";
import { discoveryEdges, linkEdges } from "./edges";
import { BOUNDS, type Folded, fold, type Item } from "./fold";
import type { GraphData } from "./graphData";
import { colouredHosts, colourOf, type Entry, keyOfItem, legendOf } from "./legend";
import { children } from "./neighbours";
import { type Look, type Scene, sceneOf, sizeOf, stressOf, weights, within } from "./scene";

export interface Shown {
  folded: Folded;
  scene: Scene;
  look: Look;
  legend: readonly Entry[];
  near: ReadonlySet<string> | null; // what the focus leaves
  palette: Palette;
}

function usePalette(): Palette {
  const theme = useTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the tokens have other values in another theme
  return useMemo(() => paletteOf(), [theme]);
}

/** Colours stay with their hosts while the graph grows. */
function useHosts(data: GraphData, version: number): readonly string[] {
  const kept = useRef<{ data: GraphData; hosts: readonly string[] }>({ data, hosts: [] });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what the data hold
  return useMemo(() => {
    const before = kept.current.data === data ? kept.current.hosts : [];
    const hosts = colouredHosts(before, data.nodes);
    kept.current = { data, hosts };
    return hosts;
  }, [data, version]);
}

// biome-ignore-start lint/correctness/useExhaustiveDependencies: the version stands for what the data hold
function useFolded(data: GraphData, version: number, { open, kind }: View): Folded {
  const names = open.join("\n");
  return useMemo(
    () => fold(data.nodes, data.indexOf, names ? names.split("\n") : [], BOUNDS[kind]),
    [data, version, names, kind],
  );
}

function useEdges(data: GraphData, version: number, folded: Folded, kind: View["kind"]): Scene {
  return useMemo(() => {
    const links = kind === "links";
    const { nodes, indexOf } = data;
    const all = links ? linkEdges(data.links.out, data.links.count, folded) : discoveryEdges(nodes, indexOf, folded);
    return sceneOf(folded, all);
  }, [data, version, folded, kind]);
}

function useSizes(data: GraphData, version: number, folded: Folded, kind: View["kind"]): Look["size"] {
  return useMemo(() => {
    const byNode = kind === "links" ? data.links.inLinks(data.nodes.length) : children(data);
    const byItem = weights(folded, byNode);
    if (folded.areas.length) return (item: Item, place: number) => stressOf(item, byItem[place] ?? 0);
    return (_: Item, place: number) => sizeOf(byItem[place] ?? 0, folded.items.length);
  }, [data, version, folded, kind]);
}

function useLegend(data: GraphData, version: number, view: View, hosts: readonly string[], palette: Palette) {
  return useMemo(
    () => legendOf(data.nodes, view.colour, hosts, palette, view.hidden),
    [data, version, view.colour, view.hidden, hosts, palette],
  );
}
// biome-ignore-end lint/correctness/useExhaustiveDependencies: until here

export function useScene(data: GraphData, view: View): Shown {
  const version = data.nodesRead ? data.version : -1; // not for every page of the first reading
  const nodes = data.nodesRead ? data.nodesVersion : -1;
  const palette = usePalette();
  const hosts = useHosts(data, nodes);
  const folded = useFolded(data, nodes, view);
  const scene = useEdges(data, version, folded, view.kind);
  const size = useSizes(data, version, folded, view.kind);
  const legend = useLegend(data, nodes, view, hosts, palette);
  const start = view.focus === null ? undefined : data.indexOf(view.focus);
  const near = useMemo(
    () => (start === undefined ? null : within(scene, folded.at[start] ?? -1, view.steps)),
    [scene, folded, start, view.steps],
  );
  const look = useMemo<Look>(() => {
    const off = new Set(view.hidden);
    const hidden = new Set<string>();
    if (off.size || near) {
      for (const item of scene.items) {
        if (off.has(keyOfItem(item, view.colour, hosts)) || (near && !near.has(item.key))) hidden.add(item.key);
      }
    }
    const colour = (item: Item) => colourOf(keyOfItem(item, view.colour, hosts), view.colour, hosts, palette);
    return { size, colour, hidden };
  }, [scene, size, view.colour, view.hidden, hosts, palette, near]);
  return { folded, scene, look, legend, near, palette };
}
