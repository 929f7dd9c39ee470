/**
 * The groups of a graph: hosts, in them folders, in those folders again. Pages that lie right in a folder which has
 * folders, too, are a group of their own, so that a group holds either groups and a few pages, or pages only.
 */
import type { GraphNode } from "../../api/types";
import { foldersOf } from "./labels";

const DEEP_MAX = 8; // folders; what lies deeper belongs to the last of them
const CHILDREN_MAX = 300; // of a group: its smallest ones share a group
const LOOSE_MAX = 30; // pages that lie beside the folders of their folder without a group of their own
const PAGES = "."; // no folder has these names in a URL that was normalised, or it is one that nobody can tell apart
const OTHERS = "*";

export interface Groups {
  names: string[]; // "a.example", "a.example/docs", ...; 0 is everything, and has none
  parents: number[]; // -1: of everything
  children: number[][]; // the largest first
  counts: number[]; // nodes in it, at any depth
  own: number[]; // nodes that lie right in it
  of: Int32Array; // the group that each node lies in
}

export function groupsOf(nodes: readonly GraphNode[]): Groups {
  const groups: Groups = {
    names: [""],
    parents: [-1],
    children: [[]],
    counts: [0],
    own: [0],
    of: new Int32Array(nodes.length),
  };
  const known = new Map<string, number>();
  for (const [index, node] of nodes.entries()) {
    const found = numberOf(groups, known, node.domain, foldersOf(node.url));
    groups.of[index] = found;
    groups.own[found] = (groups.own[found] ?? 0) + 1;
  }
  apart(groups);
  countAll(groups);
  const before = groups.names.length;
  for (let group = 0; group < before; group++) {
    const children = groups.children[group] ?? [];
    children.sort((a, b) => (groups.counts[b] ?? 0) - (groups.counts[a] ?? 0));
    if (children.length > CHILDREN_MAX) gather(groups, group, children);
  }
  return groups;
}

function numberOf(groups: Groups, known: Map<string, number>, host: string, folders: string): number {
  const whole = host + folders;
  const found = known.get(whole);
  if (found !== undefined) return found;
  const names = folders.split("/").slice(1, 1 + DEEP_MAX);
  let name = host;
  let group = childOf(groups, known, 0, name);
  for (const folder of names) {
    name = `${name}/${folder}`;
    group = childOf(groups, known, group, name);
  }
  known.set(whole, group);
  return group;
}

function childOf(groups: Groups, known: Map<string, number>, parent: number, name: string): number {
  const found = known.get(name);
  if (found !== undefined) return found;
  const made = added(groups, parent, name);
  known.set(name, made);
  return made;
}

function added(groups: Groups, parent: number, name: string): number {
  const made = groups.names.push(name) - 1;
  groups.parents.push(parent);
  groups.children.push([]);
  groups.counts.push(0);
  groups.own.push(0);
  groups.children[parent]?.push(made);
  return made;
}

/** Many pages beside folders get a group of their own. */
function apart(groups: Groups): void {
  const moved = new Map<number, number>();
  const before = groups.names.length;
  for (let group = 1; group < before; group++) {
    const own = groups.own[group] ?? 0;
    if (own <= LOOSE_MAX || !groups.children[group]?.length) continue;
    const pages = added(groups, group, `${groups.names[group]}/${PAGES}`);
    groups.own[pages] = own;
    groups.own[group] = 0;
    moved.set(group, pages);
  }
  if (!moved.size) return;
  for (const [index, group] of groups.of.entries()) groups.of[index] = moved.get(group) ?? group;
}

/** A group is made after the one it lies in: backwards, everything below is counted already. */
function countAll({ counts, own, parents }: Groups): void {
  for (let group = counts.length - 1; group >= 0; group--) {
    counts[group] = (counts[group] ?? 0) + (own[group] ?? 0);
    const parent = parents[group] ?? -1;
    if (parent >= 0) counts[parent] = (counts[parent] ?? 0) + (counts[group] ?? 0);
  }
}

function gather(groups: Groups, group: number, children: number[]): void {
  const small = children.splice(CHILDREN_MAX - 1);
  const others = added(groups, group, group === 0 ? OTHERS : `${groups.names[group]}/${OTHERS}`);
  groups.children[others] = small;
  for (const child of small) {
    groups.parents[child] = others;
    groups.counts[others] = (groups.counts[others] ?? 0) + (groups.counts[child] ?? 0);
  }
}

/** A group that holds nothing but one group is that group: nobody wants to open folders of folders one by one. */
export function inmost({ children, own }: Groups, group: number): number {
  let found = group;
  while (!own[found] && children[found]?.length === 1) found = children[found]?.[0] ?? found;
  return found;
}

/** All groups in it, itself included. */
export function below({ children }: Groups, group: number): number[] {
  const found = [group];
  // One by one: a call takes no 100,000 arguments.
  for (let at = 0; at < found.length; at++) for (const child of children[found[at] ?? -1] ?? []) found.push(child);
  return found;
}

/** What a group is called inside the group around it: "/docs", "a.example", "pages of /docs". */
export function shortName(name: string, around: string): string {
  const rest = around && name.startsWith(`${around}/`) ? name.slice(around.length) : name;
  if (name.endsWith(`/${PAGES}`)) return `pages of ${shortName(name.slice(0, -2), parentName(name.slice(0, -2)))}`;
  if (rest === OTHERS || rest === `/${OTHERS}`) return "others";
  return rest;
}

const parentName = (name: string) => name.slice(0, Math.max(0, name.lastIndexOf("/")));
