/** A page that links to a URL, and how: in the inspector of the URL, and among the broken links of a crawl. */
import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { InLink } from "../../../api/types";
import { UrlText } from "../../../look/UrlText";
import { titleOf } from "../../search/sentences";
import { inspecting } from "../list/query";

const REDIRECT = "redirect"; // as `rel`: the page is no link, it redirects there

export const calledOf = ({ title, url }: InLink) => titleOf({ title: title ?? "", url });

/** The title of a page, or its address where it has none; it opens in the inspector, on the tab that is open. */
export function PageLink({ page }: { page: InLink }) {
  const [search] = useSearchParams();
  const title = calledOf(page);
  return (
    <Link to={`?${inspecting(search, page.id)}`} title={page.url} className="link line-clamp-2 wrap-anywhere">
      {title === page.url ? <UrlText url={page.url} wrap /> : <bdi>{title}</bdi>}
    </Link>
  );
}

/** The words of its link and their `rel`, or that it redirects. `moved`: the number of the URL in `via`, if known. */
export function LinkWords({ link, moved }: { link: InLink; moved?: number | undefined }) {
  const via = link.via !== null && <Moved url={link.via} id={moved} />;
  if (link.rel === REDIRECT) {
    return <Words>{via ? <span>redirects {via}</span> : <span>redirects here</span>}</Words>;
  }
  return (
    <Words>
      {link.text ? (
        <span className="line-clamp-2 wrap-anywhere">
          “<bdi className="text-text">{link.text}</bdi>”
        </span>
      ) : (
        <span>a link without words</span>
      )}
      {link.rel && (
        <span className="wrap-anywhere">
          rel <bdi className="font-mono">{link.rel}</bdi>
        </span>
      )}
      {via && <span>{via}</span>}
    </Words>
  );
}

function Words({ children }: { children: ReactNode }) {
  return <span className="flex min-w-0 flex-wrap gap-x-3 text-dim">{children}</span>;
}

function Moved({ url, id }: { url: string; id: number | undefined }) {
  const [search] = useSearchParams();
  return (
    <>
      to{" "}
      {id === undefined ? (
        <UrlText url={url} wrap />
      ) : (
        <Link to={`?${inspecting(search, id)}`} className="hover:underline">
          <UrlText url={url} wrap />
        </Link>
      )}
      , which redirects here
    </>
  );
}
