"""The sitemaps of a crawl, and what they and its links disagree about."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Query
from pydantic import Field

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.problems import Problem
from nephila.api.query import After, CrawlRef
from nephila.api.routers import noun_router
from nephila.api.schemas import View, view_of
from nephila.api.services import OpenStore, Shared
from nephila.control.sitemaps import SitemapFigures, list_sitemaps, unlinked, unlisted
from nephila.frontier.sitemaps import ListedPage
from nephila.frontier.store import Crawl
from nephila.frontier.tokens import Access
from nephila.models import Tally, UrlState

SITEMAPS_MAX = 1000
PAGES_LOOKED_AT = 200_000  # of a crawl, for a request: it reads all of their links

router = noun_router("statistics")

Limit = Annotated[int, Query(ge=1, le=SITEMAPS_MAX, description="the most that a page has")]


@view_of(SitemapFigures)
class SitemapFiguresView(View):
    id: int = Field(description="number of its URL", examples=[3])
    url: str = Field(description="as it was normalised", examples=["https://example.com/sitemap.xml"])
    state: UrlState = Field(description="where it is in its life", examples=["visited"])
    reason: str = Field(description="why; empty: the state says it all", examples=[""])
    status: int | None = Field(description="HTTP status of its last answer; null: none came", examples=[200])
    found: str = Field(description="how it was found, in words", examples=["named in robots.txt of example.com"])
    found_in: int | None = Field(description="number of the index that lists it; null: none", examples=[None])
    format: str = Field(description="urlset, index, rss, atom, text; empty: none of them", examples=["urlset"])
    entries: int = Field(description="URLs that it lists", examples=[1240])
    admitted: int = Field(description="of these, those that the rules of the crawl admit", examples=[1203])
    images: int = Field(description="images of its URLs", examples=[310])
    videos: int = Field(description="videos of its URLs", examples=[4])
    news: int = Field(description="news of its URLs", examples=[0])
    alternates: int = Field(description="the same pages in other languages, of its URLs", examples=[2480])
    problem: str = Field(
        description="what ended it before its end, with its name before the colon: unsafe, broken, not_sitemap, "
        "too_many, too_large, nested; empty: nothing",
        examples=[""],
    )


class SitemapList(View):
    sitemaps: list[SitemapFiguresView] = Field(description="a page of sitemaps, by id")
    next: int | None = Field(description="give it as `after`; null: nothing more is there now", examples=[None])


class ListedPageView(View):
    id: int = Field(description="number of the URL", examples=[816])
    url: str = Field(description="as it was normalised", examples=["https://example.com/docs/install"])
    host: str = Field(description="politeness key of its host", examples=["example.com"])
    state: UrlState = Field(description="where it is in its life", examples=["visited"])
    sitemap: int | None = Field(description="number of the first sitemap that lists it; null: none", examples=[3])


class ListedPageList(View):
    urls: list[ListedPageView] = Field(description="a page of URLs, by id")
    total: int = Field(description="how many there are in all, whatever `after` says", examples=[37])
    next: int | None = Field(description="give it as `after`; null: nothing more is there now", examples=[None])


@router.get("/crawls/{crawl}/sitemaps", **guarded(Access.READ, 404))
def crawl_sitemaps(shared: Shared, crawl: CrawlRef, after: After = 0, limit: Limit = 200) -> SitemapList:
    """The sitemaps of a crawl.

    Each with what it lists, how it was found, and what is wrong with it.
    """
    with shared.pool.use() as store:
        found = list_sitemaps(store.catalog, crawl_named(store, crawl), after, limit)
    following = found[-1].id if len(found) == limit else None
    return SitemapList.model_validate({"sitemaps": found, "next": following})


@router.get("/crawls/{crawl}/sitemaps/unlinked", **guarded(Access.READ, 404, 409))
def unlinked_pages(shared: Shared, crawl: CrawlRef, after: After = 0, limit: Limit = 200) -> ListedPageList:
    """Pages that a sitemap lists and that no other page links to.

    Of crawls of up to 200,000 URLs; `nephila sitemaps --unlinked` tells it of larger ones.
    """
    with shared.pool.use() as store:
        found = _looked_at(store, crawl_named(store, crawl))
        return _page(unlinked(store.catalog, found), after, limit)


@router.get("/crawls/{crawl}/sitemaps/unlisted", **guarded(Access.READ, 404, 409))
def unlisted_pages(shared: Shared, crawl: CrawlRef, after: After = 0, limit: Limit = 200) -> ListedPageList:
    """Pages that links lead to and no sitemap lists.

    Visited ones, of hosts of which a sitemap lists some page. Of crawls of up to 200,000 URLs; `nephila sitemaps
    --unlisted` tells it of larger ones.
    """
    with shared.pool.use() as store:
        found = _looked_at(store, crawl_named(store, crawl))
        return _page(unlisted(store.catalog, found), after, limit)


def _looked_at(store: OpenStore, crawl: Crawl) -> Crawl:
    if store.catalog.tallies(crawl.id).get(Tally.URLS, 0) > PAGES_LOOKED_AT:
        raise Problem(409, f"crawl {crawl.id} has too many URLs for a request: the command line tells it")
    if not crawl.settings.content.edges:
        raise Problem(409, f"crawl {crawl.id} has kept no links (content.edges)")
    return crawl


def _page(found: Iterator[ListedPage], after: int, limit: int) -> ListedPageList:
    """A page of them, and how many there are. Counting is free: all links are read for the first one, too."""
    urls: list[ListedPage] = []
    total = 0
    for page in found:
        total += 1
        if page.id > after and len(urls) <= limit:
            urls.append(page)
    following = urls[limit - 1].id if len(urls) > limit else None
    shown = [{name: getattr(page, name) for name in ListedPageView.model_fields} for page in urls[:limit]]
    return ListedPageList.model_validate({"urls": shown, "total": total, "next": following})
