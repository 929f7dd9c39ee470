/** Files from the API. Where a token is needed a plain link cannot send it, so they are fetched, up to a size. */

export const SAVED_BYTES_MAX = 100_000_000;

export class TooLarge extends Error {}

type Bytes = Uint8Array<ArrayBuffer>;

/** Reads to the end, or stops as soon as it is more than `max` bytes. */
export async function gathered(body: ReadableStream<Bytes>, max: number): Promise<Blob> {
  const reader = body.getReader();
  const parts: Bytes[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    size += value.byteLength;
    if (size > max) {
      await reader.cancel();
      throw new TooLarge(`more than ${max} bytes`);
    }
    parts.push(value);
  }
}

export function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** For a shell: the path is percent-encoded, so it has no quote in it. */
export function curlCommand(origin: string, path: string, name: string, token: boolean): string {
  const header = token ? ' -H "Authorization: Bearer $NEPHILA_TOKEN"' : "";
  return `curl -f${header} '${origin}${path.replaceAll("'", "%27")}' -o ${name}`;
}
