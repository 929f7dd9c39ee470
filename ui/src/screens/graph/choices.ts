/** What a choice in the picture or in the search box means for the address. */
import type { Change, View } from "./address";
import type { Found } from "./find";
import type { Folded, Item } from "./fold";

const opened = (open: readonly string[], name: string) => [...open.filter((each) => each !== name), name];

export function clicked(item: Item | undefined): Change | null {
  return item && !item.fold ? { node: item.node.id, inspect: item.node.id } : null;
}

export function doubleClicked(item: Item | undefined, view: View): Change | null {
  if (!item) return null;
  return item.fold ? { open: opened(view.open, item.fold.name) } : { node: item.node.id, focus: item.node.id };
}

/** What is found inside a fold is taken out of it. */
export function found(choice: Found, view: View, folded: Folded, place: number | undefined): Change {
  if (choice.kind === "fold") return { open: opened(view.open, choice.name) };
  const fold = place === undefined ? null : folded.items[folded.at[place] ?? -1]?.fold;
  return { node: choice.id, focus: null, open: fold ? opened(view.open, fold.name) : view.open };
}
