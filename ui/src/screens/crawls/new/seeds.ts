const COMMENT = "#";

/**
 * URLs and bare domains, each once: one per line, or with spaces or commas between. A comma may be part of a URL, so it
 * only separates where a URL begins after it, at the end, and between bare domains. Whether they are any good is the
 * server's to say.
 */
export function seedsOf(text: string): string[] {
  const lines = text.split(/\r?\n/).filter((line) => !line.trimStart().startsWith(COMMENT));
  const words = lines.flatMap((line) => line.split(/\s+/));
  return [...new Set(words.flatMap(apart).filter(Boolean))];
}

function apart(word: string): string[] {
  const parts = word.split(/,+(?=https?:\/\/|$)/i);
  return parts.flatMap((part) => (part.includes("/") ? [part] : part.split(",")));
}

/** What was typed, and behind it the lines of a file. */
export function withSeeds(typed: string, file: string): string {
  const lines = file.replace(/^\uFEFF/, "").trimEnd();
  return typed.trim() ? `${typed.trimEnd()}\n${lines}` : lines;
}
