"""What sitemaps say of the URLs that they list, and which pages are listed or linked, stretch by stretch."""

import json
from typing import Any, NamedTuple

from nephila.frontier.rows import stored
from nephila.frontier.tables import OverTables, Values
from nephila.models import STATES_BY_CODE, UrlState

KEY_PREFIX_BYTES = 8  # of a key: what the links of pages are kept as


class SitemapNote(NamedTuple):
    """What the first sitemap that lists a URL says of it."""

    sitemap_id: int
    sitemap: str  # its URL
    lastmod: int | None  # ms since 1970
    priority: float | None  # 0 to 1, as the site sees it
    notes: dict[str, Any]  # changefreq, alternates, images, videos, news


class ListedPage(NamedTuple):
    """A page of a crawl: whether a sitemap lists it, and how it was found."""

    id: int
    url: str
    host: str
    key: int  # the first 8 bytes of its key
    state: UrlState
    sitemap: int | None  # the first that lists it
    linked: bool  # a page, which links or redirects to it, has brought it


class Sitemaps(OverTables):
    def sitemap_note(self, crawl_id: int, url_id: int) -> SitemapNote | None:
        row = self.tables.row("sitemap_note", crawl=crawl_id, url=url_id)
        return None if row is None else _note(row)

    def listed_pages(self, crawl_id: int, after: int, limit: int) -> list[ListedPage]:
        """The pages of a crawl by id, `limit` behind the id `after`."""
        return [_page(row) for row in self.tables.rows("listed_pages", crawl=crawl_id, after=after, limit=limit)]

    def links_of_pages(self, crawl_id: int, after: int, limit: int) -> list[tuple[int, bytes, bytes | None]]:
        """Pages by id, each with its key and its packed links; None: it has none, or they were not kept."""
        rows = self.tables.rows("links_of_pages", crawl=crawl_id, after=after, limit=limit)
        return [(id, bytes(key), None if links is None else bytes(links)) for id, key, links in rows]


@stored
def _note(row: Values) -> SitemapNote:
    sitemap_id, url, lastmod, priority, notes = row
    priority = None if priority is None else round(priority, 4)  # kept in four bytes
    return SitemapNote(sitemap_id, url or "", lastmod, priority, json.loads(notes) if notes else {})


@stored
def _page(row: Values) -> ListedPage:
    id, url, host, key, code, sitemap, linked = row
    prefix = int.from_bytes(key[:KEY_PREFIX_BYTES], "little")
    return ListedPage(id, url, host, prefix, STATES_BY_CODE[code], sitemap, bool(linked))
