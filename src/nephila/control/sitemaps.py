"""The sitemaps of a crawl, and what they and its links disagree about: pages that only a sitemap lists, pages that only
links lead to. Both lists are streamed; what is held in memory is bounded."""

import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nephila.errors import UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.columns import link_head
from nephila.frontier.records import UrlFilter
from nephila.frontier.sitemaps import KEY_PREFIX_BYTES, ListedPage
from nephila.frontier.store import Crawl
from nephila.models import Kind, UrlState
from nephila.urls.identity import EVERY_HOST

STRETCH_ROWS = 5_000  # that the store is asked for at once
CANDIDATES_MAX = 500_000  # pages whose links are looked for in one pass over all pages: some 50 MB
SITEMAPS_MAX = 10_000  # that are listed
COUNTED = ("entries", "admitted", "images", "videos", "news", "alternates")  # fields of SitemapFigures, as stored


@dataclass(frozen=True, slots=True)
class SitemapFigures:
    """A sitemap of a crawl as it ended."""

    id: int
    url: str
    state: UrlState
    reason: str
    status: int | None
    found: str  # how it was found, in words
    found_in: int | None  # the id of the index that lists it, or of the one that redirects to it
    format: str  # urlset, index, rss, atom, text; empty: none
    entries: int  # that it lists
    admitted: int  # of these, pages and sitemaps that the crawl's rules admit
    images: int  # of its entries; of each URL the first are kept
    videos: int
    news: int
    alternates: int  # the same pages in other languages
    problem: str  # empty: none


def list_sitemaps(catalog: Catalog, crawl: Crawl, after: int = 0, limit: int = SITEMAPS_MAX) -> list[SitemapFigures]:
    """By id, those behind the id `after`."""
    rows = catalog.urls(crawl.id, after, limit, UrlFilter(kind=Kind.SITEMAP))
    views = []
    for row in rows:
        told: Any = catalog.page_facts(row.id).get("sitemap") or {}
        counts = {name: told.get(name, 0) for name in COUNTED}
        problem = told.get("problem") or row.error or ""
        found = how_found(row.raw_url, listed=row.discovered_from is not None)
        known = (row.id, row.url, row.state, row.reason, row.status, found, row.discovered_from)
        views.append(SitemapFigures(*known, told.get("format") or "", **counts, problem=problem))
    return views


def how_found(speaks_for: str | None, *, listed: bool) -> str:
    """How a sitemap was found, in words; `listed`: by another sitemap. What it speaks for says the rest."""
    if listed:
        return "listed by another sitemap, or redirected to"
    if speaks_for == EVERY_HOST:
        return "given by hand"
    return f"named in robots.txt of {speaks_for}" if speaks_for else "looked for at its usual place"


def unlisted(catalog: Catalog, crawl: Crawl) -> Iterator[ListedPage]:
    """Pages that links lead to, that were visited, and that no sitemap lists, of hosts of which some page is listed."""
    hosts = hosts_with_sitemaps(catalog, crawl)
    for page in each_page(catalog, crawl):
        if page.sitemap is None and page.linked and page.state is UrlState.VISITED and page.host in hosts:
            yield page


def unlinked(catalog: Catalog, crawl: Crawl) -> Iterator[ListedPage]:
    """Pages that a sitemap lists and that no other page links to. Links count where the crawl has kept them
    (content.edges) and admitted them."""
    if not crawl.settings.content.edges:
        raise UsageError(f"crawl {crawl.id} has kept no links (content.edges): nobody knows which pages are linked")
    candidates: list[ListedPage] = []
    for page in each_page(catalog, crawl):
        if page.sitemap is not None and not page.linked:
            candidates.append(page)
        if len(candidates) == CANDIDATES_MAX:
            yield from _without_linked(catalog, crawl, candidates)
            candidates = []
    if candidates:
        yield from _without_linked(catalog, crawl, candidates)


def each_page(catalog: Catalog, crawl: Crawl) -> Iterator[ListedPage]:
    after = 0
    while pages := catalog.listed_pages(crawl.id, after, STRETCH_ROWS):
        yield from pages
        after = pages[-1].id


def hosts_with_sitemaps(catalog: Catalog, crawl: Crawl) -> set[str]:
    """Hosts of which a sitemap lists a page. All others are of no interest to whoever looks for gaps."""
    return {page.host for page in each_page(catalog, crawl) if page.sitemap is not None}


def _without_linked(catalog: Catalog, crawl: Crawl, candidates: list[ListedPage]) -> Iterator[ListedPage]:
    """One pass over the links of all pages: each is looked up in the candidates by the first 8 bytes of its key."""
    wanted, linked, after = {page.key for page in candidates}, set[int](), 0
    while pages := catalog.links_of_pages(crawl.id, after, STRETCH_ROWS):
        for _, key, packed in pages:
            if packed:
                own = int.from_bytes(key[:KEY_PREFIX_BYTES], "little")  # its link to itself does not count
                linked |= wanted.intersection(_prefixes(packed)) - {own}
        after = pages[-1][0]
    yield from (page for page in candidates if page.key not in linked)


def _prefixes(packed: bytes) -> "array[int]":
    """The first 8 bytes of the key of each link, as numbers."""
    found, at = array("Q"), 0
    while at < len(packed):
        _, count = link_head.unpack_from(packed, at)
        at += link_head.size
        found.frombytes(packed[at : at + KEY_PREFIX_BYTES * count])
        at += KEY_PREFIX_BYTES * count
    if sys.byteorder == "big":
        found.byteswap()
    return found
