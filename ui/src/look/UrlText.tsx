const DIM_AFTER = 80;

export interface UrlParts {
  scheme: string;
  host: string;
  near: string;
  far: string;
}

/** By hand: what was crawled need not be a URL that this browser can parse. */
export function partsOf(url: string): UrlParts {
  const found = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)(.*)$/is.exec(url);
  const [scheme, host, rest] = [found?.[1] ?? "", found?.[2] ?? "", found?.[3] ?? ""];
  const room = Math.max(DIM_AFTER - scheme.length - host.length, 0);
  return { scheme, host, near: rest.slice(0, room), far: rest.slice(room) };
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
