/** Orders of lists. Pure, but for the two hooks at the end. */
import { useState } from "react";
import { useSearchParams } from "react-router";

export type Order = "asc" | "desc";

export interface Sorted<S extends string = string> {
  sort: S;
  order: Order;
}

/** What the head of a table needs to know. */
export interface Ordering {
  towards: (sort: string) => "ascending" | "descending" | undefined; // undefined: by something else
  refuses: (sort: string) => string; // why not; empty: it can be sorted so
  choose: (sort: string) => void;
}

/** A heading goes through its two orders, the usual one of its kind first, and back to the usual order of the list. */
export function afterHeading<S extends string>(heading: Sorted<S>, now: Sorted<S>, usual: Sorted<S>): Sorted<S> {
  const other: Sorted<S> = { sort: heading.sort, order: heading.order === "asc" ? "desc" : "asc" };
  if (now.sort !== heading.sort) return heading;
  if (now.order === heading.order) return other;
  return usual.sort === heading.sort ? heading : usual;
}

export function orderingOf<S extends string>(
  now: Sorted<S>,
  usual: Sorted<S>,
  first: Readonly<Record<S, Order>>,
  go: (next: Sorted<S>) => void,
  unsortable = "", // why nothing but the usual order can be had
): Ordering {
  const known = (sort: string): sort is S => Object.hasOwn(first, sort);
  return {
    towards: (sort) => (sort === now.sort ? (now.order === "asc" ? "ascending" : "descending") : undefined),
    refuses: (sort) => (sort === usual.sort ? "" : unsortable),
    choose: (sort) => {
      if (known(sort)) go(afterHeading({ sort, order: first[sort] }, now, usual));
    },
  };
}

export type Place<R> = (row: R) => string | number | null;

/** All rows of a list that is here as a whole; those without a value come last. */
export function inOrder<R>(rows: readonly R[], place: Place<R>, order: Order): R[] {
  const turn = order === "asc" ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [one, other] = [place(a), place(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return turn * (typeof one === "string" ? one.localeCompare(String(other)) : one - Number(other));
  });
}

/** Sorts a list that is here as a whole: by heading, for as long as it is shown. `places` is by what `sort` names. */
export function useOwnOrder<R, S extends string>(
  rows: readonly R[],
  places: Readonly<Record<S, Place<R>>>,
  usual: Sorted<S> | null, // null: as it came
  unsortable = "",
): { rows: readonly R[]; ordering: Ordering } {
  const [now, setNow] = useState<Sorted<string>>(usual ?? AS_IT_CAME);
  const first = Object.fromEntries(Object.keys(places).map((sort) => [sort, "asc" as const]));
  const place = Object.hasOwn(places, now.sort) ? places[now.sort as S] : null;
  return {
    rows: place && !unsortable ? inOrder(rows, place, now.order) : rows,
    ordering: orderingOf<string>(now, usual ?? AS_IT_CAME, first, setNow, unsortable),
  };
}

const AS_IT_CAME: Sorted<string> = { sort: "", order: "asc" };

/** The order that the address asks for: `?sort=requests&order=desc`. `wrong`: what in it is no order, in words. */
export function readOrder<S extends string>(
  search: URLSearchParams,
  first: Readonly<Record<S, Order>>,
  usual: Sorted<S>,
): Sorted<S> & { wrong: string[] } {
  const [sort, order] = [search.get("sort"), search.get("order")];
  const wrong: string[] = [];
  const known = sort === null || Object.hasOwn(first, sort);
  if (!known) wrong.push(noneOf("sort", sort ?? "", Object.keys(first)));
  if (order !== null && order !== "asc" && order !== "desc") wrong.push(noneOf("order", order, ["asc", "desc"]));
  const chosen = known && sort !== null ? (sort as S) : usual.sort;
  const usually = chosen === usual.sort ? usual.order : first[chosen];
  return { sort: chosen, order: order === "asc" || order === "desc" ? order : usually, wrong };
}

/** "state: “bogus” is none of queued, visited" */
export function noneOf(parameter: string, word: string, known: readonly string[]): string {
  return `${parameter}: “${word}” is none of ${known.join(", ")}`;
}

/** The order in the address, for lists that the server sorts; another one begins at the first page. */
export function useOrderInAddress<S extends string>(first: Readonly<Record<S, Order>>, usual: Sorted<S>) {
  const [search, setSearch] = useSearchParams();
  const { wrong, ...now } = readOrder(search, first, usual);
  const go = ({ sort, order }: Sorted<S>) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      for (const name of ["sort", "order", "after"]) after.delete(name);
      if (sort !== usual.sort || order !== usual.order) after.set("sort", sort);
      if (after.has("sort")) after.set("order", order);
      return after;
    });
  return { now, wrong, orderingWith: (unsortable: string) => orderingOf(now, usual, first, go, unsortable) };
}
