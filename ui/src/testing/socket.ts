/** A WebSocket whose other end is the test. */
import { vi } from "vitest";

export class FakeSocket {
  static all: FakeSocket[] = [];

  static get last(): FakeSocket {
    const last = FakeSocket.all.at(-1);
    if (!last) throw new Error("no line was opened");
    return last;
  }

  /** For the test that runs: `unstubGlobals` takes it back. */
  static install(): void {
    FakeSocket.all = [];
    vi.stubGlobal("WebSocket", FakeSocket);
  }

  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  open = true;

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    FakeSocket.all.push(this);
  }

  close(): void {
    this.end(1005);
  }

  end(code: number): void {
    if (!this.open) return;
    this.open = false;
    this.onclose?.({ code });
  }

  say(message: unknown): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}
