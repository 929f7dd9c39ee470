const DIM_AFTER = 80;

export interface UrlParts {
  scheme: string;
  host: string;
  near: string;
  far: string;
}

/** Splits a URL by hand: a crawled one may be none that this browser can parse. */
export function partsOf(url: string): UrlParts {
  const found = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)(.*)$/is.exec(url);
  const [scheme, host, rest] = [found?.[1] ?? "", found?.[2] ?? "", found?.[3] ?? ""];
  const room = Math.max(DIM_AFTER - scheme.length - host.length, 0);
  return { scheme, host, near: rest.slice(0, room), far: rest.slice(room) };
}

const TAIL_MAX = 24;

/** Where the end of a URL begins that tells it from others of its host: its last folder or name, as far as it is short. */
export function tailOf(rest: string): number {
  const at = rest.replace(/\/$/, "").lastIndexOf("/");
  return Math.max(at < 0 ? 0 : at, rest.length - TAIL_MAX, 0);
}

/** As `UrlText`, on one line: where there is too little room, the middle of the path is left out, not its end. */
export function UrlEnds({ url }: { url: string }) {
  const found = partsOf(url);
  const rest = found.near + found.far;
  const tail = tailOf(rest);
  return (
    <bdi title={url} className="flex min-w-0 font-mono" dir="ltr">
      <span className="min-w-0 shrink truncate">
        <span className="text-dim">{found.scheme}</span>
        {found.host}
      </span>
      <span className="min-w-0 shrink-[9999] truncate">{rest.slice(0, tail)}</span>
      <span className="min-w-0 shrink truncate">{rest.slice(tail)}</span>
    </bdi>
  );
}

/** Crawled text: always shown as text. Host in normal weight, the end of a long path dimmed, all of it on hover. */
export function UrlText({ url, wrap = false }: { url: string; wrap?: boolean }) {
  const { scheme, host, near, far } = partsOf(url);
  return (
    <bdi title={url} className={`font-mono ${wrap ? "break-all" : "block truncate"}`} dir="ltr">
      <span className="text-dim">{scheme}</span>
      <span>{host}</span>
      <span>{near}</span>
      {far && <span className="text-dim">{far}</span>}
    </bdi>
  );
}
