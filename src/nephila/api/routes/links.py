"""Links both ways: which pages link to a URL, and which links are broken."""

from dataclasses import asdict
from itertools import islice
from typing import Annotated

from fastapi import Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named, url_of
from nephila.api.query import After, CrawlRef, UrlId
from nephila.api.routers import noun_router
from nephila.api.schemas import Moment, View, view_of
from nephila.api.services import Shared
from nephila.control.derivation import pending_bytes
from nephila.control.links import IN_LINKS_MAX, SKIPPED_MAX, InLink, broken_urls, in_links
from nephila.frontier.tokens import Access
from nephila.models import UrlState

BROKEN_MAX = 200

router = noun_router("urls")

Pages = Annotated[int, Query(ge=1, le=IN_LINKS_MAX, description="linking pages that are told of each URL, at most")]
PENDING = Field(
    description="bytes of the archive that are not indexed yet: more than 0 means that links may be missing",
    examples=[0],
)


@view_of(
    InLink,
    id=Field(description="number of the page", examples=[12]),
    url=Field(description="of the page, as it was normalised", examples=["https://example.com/docs/"]),
    title=Field(description="of the page; null: none", examples=["Documentation"]),
    text=Field(
        description="of the link; of a picture what it shows; empty: there is none", examples=["How to install"]
    ),
    rel=Field(description="words of `rel`; `redirect`: the page is no link, it redirects there", examples=["nofollow"]),
    via=Field(
        description="the link leads to this URL, which redirects to the one in question; null: there directly",
        examples=[None],
    ),
)
class InLinkView(View):
    pass


class InLinkList(View):
    links: list[InLinkView] = Field(description="some of the pages that link there, in the order of the archive")
    total: int = Field(description="how many there are in all", examples=[12])
    total_exact: bool = Field(description="false: there are more than `total`", examples=[True])


class InLinkPage(InLinkList):
    pending_bytes: int = PENDING


class BrokenUrlView(View):
    id: int = Field(description="number of the URL", examples=[816])
    url: str = Field(description="as it was normalised", examples=["https://example.com/gone"])
    state: UrlState = Field(description="what is wrong with it", examples=["not_found"])
    reason: str = Field(description="why; empty: the state says it all", examples=[""])
    status: int | None = Field(description="HTTP status of its last answer; null: none came", examples=[404])
    error: str | None = Field(description="what went wrong, in words; null: nothing more to say", examples=[None])
    fetched_at: Moment | None = Field(
        description="when it was asked for last; null: never", examples=["2026-03-02T09:30:00Z"]
    )
    linked: InLinkList = Field(description="the pages that link there; behind redirects, those that link to these")


class BrokenUrlList(View):
    urls: list[BrokenUrlView] = Field(description="a page of URLs, by id")
    next: int | None = Field(description="give it as `after`; null: nothing more is there now", examples=[None])
    pending_bytes: int = PENDING


@router.get("/crawls/{crawl}/urls/{url_id}/in-links", **guarded(Access.READ, 404))
def list_in_links(
    shared: Shared,
    crawl: CrawlRef,
    url_id: UrlId,
    limit: Annotated[int, Query(ge=1, le=IN_LINKS_MAX, description="the most that a page has")] = 50,
    offset: Annotated[int, Query(ge=0, le=SKIPPED_MAX, description="pages to skip")] = 0,
) -> InLinkPage:
    """List the pages that link to a URL.

    Each with the text and the `rel` of its link. They are indexed by the follower of `nephila serve`, a moment after
    they are crawled; `nephila links` indexes first.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        linked = in_links(store.catalog, store.links, found, url_of(store, found, url_id).url, limit, offset)
        pending = pending_bytes(store.catalog, store.links)
    return InLinkPage.model_validate(asdict(linked) | {"pending_bytes": pending})


@router.get("/crawls/{crawl}/broken", **guarded(Access.READ, 404))
def list_broken(
    shared: Shared,
    crawl: CrawlRef,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=BROKEN_MAX, description="the most that a page has")] = 50,
    pages: Pages = 10,
) -> BrokenUrlList:
    """List the URLs that cannot be had, with the pages that link there.

    A redirect in between is not to blame: who links to it is told, too.
    """
    with shared.pool.use() as store:
        found = crawl_named(store, crawl)
        urls = broken_urls(store.catalog, store.links, found, after=after, pages_max=pages, at_once=limit)
        some = [asdict(url.row) | {"linked": asdict(url.linked)} for url in islice(urls, limit)]
        pending = pending_bytes(store.catalog, store.links)
    shown = [{name: url[name] for name in BrokenUrlView.model_fields} for url in some]
    following = shown[-1]["id"] if len(shown) == limit else None
    return BrokenUrlList.model_validate({"urls": shown, "next": following, "pending_bytes": pending})
