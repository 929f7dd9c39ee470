/** A crawled URL becomes a link only if it can be nothing but a web page. */
export function webAddress(url: string): string | null {
  return /^https?:\/\//i.test(url) ? url : null;
}

/** "text/html; charset=utf-8" -> "text/html". */
export function shortType(type: string | null): string {
  return type?.split(";", 1)[0]?.trim() ?? "";
}

const HTML = new Set(["text/html", "application/xhtml+xml"]);
const UNKNOWN = new Set(["", "unknown/unknown", "application/unknown", "*/*"]);

/** As far as its type says; the server looks at how an untyped one begins. */
export function mayBeHtml(type: string | null): boolean {
  const short = shortType(type).toLowerCase();
  return HTML.has(short) || UNKNOWN.has(short) || !short.includes("/");
}
