/** What a choice in the picture or in the search box means for the address. */
import type { Change, View } from "./address";
import type { Folded, Item } from "./fold";

const opened = (open: readonly string[], name: string) => [...open.filter((each) => each !== name), name];

/** A group that is closed takes all that was opened in it along. */
export const closed = (open: readonly string[], name: string) =>
  open.filter((each) => each !== name && !each.startsWith(`${name}/`));

export function clicked(item: Item | undefined): Change | null {
  return item && !item.fold ? { node: item.node.id, inspect: item.node.id } : null;
}

export function doubleClicked(item: Item | undefined): Change | null {
  return item && !item.fold ? { node: item.node.id, focus: item.node.id } : null;
}

export function openedBy(name: string, view: View): Change {
  return { open: opened(view.open, name), focus: null };
}

/** The opened groups, with those that keep a node from being drawn. */
export function revealing(open: readonly string[], folded: Folded, place: number | undefined): readonly string[] {
  if (place === undefined || !folded.items[folded.at[place] ?? -1]?.fold) return open;
  return opened(open, folded.groupOf(place));
}

/** What is found inside a group is taken out of it. */
export function found(id: number, view: View, folded: Folded, place: number | undefined): Change {
  return { node: id, focus: null, open: revealing(view.open, folded, place) };
}
