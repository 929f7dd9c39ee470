import { partsOf } from "../../look/UrlText";

const LONGEST = 40;

export function shortened(text: string, most = LONGEST): string {
  const plain = text.replace(/\s+/g, " ").trim();
  return plain.length > most ? `${plain.slice(0, most - 1)}…` : plain;
}

/** "/docs/guide/" -> "guide"; the host for its front page. */
export function pathEnd(url: string): string {
  const { host, near, far } = partsOf(url);
  const [path = "", query = ""] = `${near}${far}`.split("#")[0]?.split("?", 2) ?? [];
  const end = path.split("/").filter(Boolean).at(-1) ?? "";
  return `${end || host}${query && `?${query}`}`;
}

/** What a node is called in the picture: its title, or else the end of its path. */
export function labelOf(node: { url: string; title: string | null }): string {
  return shortened(node.title ?? "") || shortened(pathEnd(node.url));
}

/** "/docs" of "https://a.example/docs/guide"; "/" for what lies at the top. By hand: it is asked for every node. */
export function folderOf(url: string): string {
  const scheme = url.indexOf("://");
  const begin = url.indexOf("/", scheme < 0 ? 0 : scheme + 3);
  if (begin < 0) return "/";
  const end = url.indexOf("/", begin + 1);
  if (end <= begin + 1) return "/";
  const before = url.slice(0, end);
  return before.includes("?") || before.includes("#") ? "/" : before.slice(begin);
}

/** "/docs/guide" of "https://a.example/docs/guide/x"; "" for what lies at the top. By hand, as above. */
export function foldersOf(url: string): string {
  const scheme = url.indexOf("://");
  const begin = url.indexOf("/", scheme < 0 ? 0 : scheme + 3);
  if (begin < 0) return "";
  const path = (url.slice(begin).split(/[?#]/, 1)[0] ?? "").replace(/\/{2,}/g, "/");
  return url.slice(0, begin).search(/[?#]/) < 0 ? path.slice(0, path.lastIndexOf("/")) : "";
}
