const KEY_BYTES = 16;

/** crypto.randomUUID is missing where the page came over plain http. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same key for the same body: sending again after a lost answer gets the crawl that was made. */
export function keyring(): (body: unknown) => string {
  let last: { text: string; key: string } | null = null;
  return (body) => {
    const text = JSON.stringify(body);
    if (last?.text !== text) last = { text, key: newKey() };
    return last.key;
  };
}
