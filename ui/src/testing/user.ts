/** A user with keyboard and pointer who acts without pauses; setup.ts makes a new one for each test. */
import { userEvent } from "@testing-library/user-event";

const somebody = () => userEvent.setup({ delay: null });

export let user = somebody();

export function changeUser(): void {
  user = somebody();
}

/** Replaces the text of a control in one step, like pasting over all of it: no pause between, however busy the machine. */
export async function fill(control: HTMLElement, text: string): Promise<void> {
  await user.click(control);
  if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) control.select();
  await (text ? user.paste(text) : user.keyboard("{Delete}"));
}
