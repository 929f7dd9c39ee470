/** Somebody with a keyboard and a pointer, who waits for nothing. Another one in each test: setup.ts sees to it. */
import { userEvent } from "@testing-library/user-event";

const somebody = () => userEvent.setup({ delay: null });

export let user = somebody();

export function changeUser(): void {
  user = somebody();
}

/** As one that pastes: the text of the control is another one at once. */
export async function fill(control: Element, text: string): Promise<void> {
  await user.clear(control);
  if (text) await user.paste(text);
}
