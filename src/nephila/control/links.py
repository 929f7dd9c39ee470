"""Links both ways, for the command line and the API: which pages link to a URL and with which words, and which links
are broken."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.frontier.store import Crawl
from nephila.links.index import REDIRECT, Link, LinkIndex
from nephila.models import STATE_TRAITS, Kind, UrlState
from nephila.urls.identity import host_of, url_key

IN_LINKS_MAX = 200  # that one answer has
SKIPPED_MAX = 10_000
VIA_MAX = 5  # redirects to a broken URL whose own in-links are told
STRETCH_ROWS = 500  # broken URLs that the store is asked for at once, where all are wanted

BROKEN = tuple(state for state, traits in STATE_TRAITS.items() if traits.error)


@dataclass(frozen=True, slots=True)
class InLink:
    """A page that links to a URL. `via`: not to the URL itself, but to this one, which redirects there."""

    id: int
    url: str
    title: str | None
    text: str
    rel: str
    via: str | None = None


@dataclass(frozen=True, slots=True)
class InLinks:
    """Some of the pages that link to a URL, and how many there are; redirects count as pages."""

    links: list[InLink]
    total: int
    total_exact: bool


@dataclass(frozen=True, slots=True)
class OutLink:
    """A link of a page; `id` and `state` of its target, where the crawl has it."""

    url: str
    text: str
    rel: str
    id: int | None
    state: UrlState | None


@dataclass(frozen=True, slots=True)
class BrokenUrl:
    """A URL that cannot be had, and the pages that link there."""

    row: UrlRow
    linked: InLinks


def in_links(catalog: Catalog, index: LinkIndex, crawl: Crawl, url: str, limit: int, offset: int = 0) -> InLinks:
    """The pages of a crawl that link to a normalised URL, which may be one that the crawl does not have."""
    found = index.linking(crawl.id, url, limit, offset)
    links = index.links_of(found.ids)
    pages = [_in_link(page, links.get(page.id, []), url) for page in catalog.urls_by_ids(found.ids)]
    return InLinks(pages, found.total, found.total_exact)


def _in_link(page: UrlRow, links: list[Link], url: str) -> InLink:
    link = next((link for link in links if link.url == url), Link(url, "", ""))
    return InLink(page.id, page.url, page.title, link.text, link.rel)


def out_links(catalog: Catalog, index: LinkIndex, crawl: Crawl, row: UrlRow) -> list[OutLink]:
    """What a page links to, in the order of the page, also what is not of the crawl."""
    found = []
    for url, text, rel in index.links_of([row.id]).get(row.id, []):
        target = catalog.url(crawl.id, host_of(url), url_key(url))
        known = (None, None) if target is None else (target.id, target.state)
        found.append(OutLink(url, text, rel, *known))
    return found


def broken_urls(
    catalog: Catalog,
    index: LinkIndex,
    crawl: Crawl,
    *,
    after: int = 0,
    pages_max: int = IN_LINKS_MAX,
    at_once: int = STRETCH_ROWS,
) -> Iterator[BrokenUrl]:
    """URLs of a crawl that something is wrong with, by id, those behind the id `after`, each with up to `pages_max`
    pages that link there, and as many behind redirects. Those that nobody links to, as seeds, are among them.

    `at_once`: how many URLs the store is asked for at a time."""
    where = UrlFilter(states=BROKEN, kind=Kind.PAGE)
    while rows := catalog.urls(crawl.id, after, at_once, where):
        for row in rows:
            yield BrokenUrl(row, _linked(catalog, index, crawl, row.url, pages_max))
        after = rows[-1].id


def _linked(catalog: Catalog, index: LinkIndex, crawl: Crawl, url: str, pages_max: int) -> InLinks:
    """Who links there. A redirect in between is not to blame: who links to it is."""
    found = in_links(catalog, index, crawl, url, pages_max)
    behind: list[InLink] = []
    for moved in [link.url for link in found.links if link.rel == REDIRECT][:VIA_MAX]:
        linked = in_links(catalog, index, crawl, moved, pages_max - len(behind)).links
        behind += [replace(link, via=moved) for link in linked]
    return InLinks(found.links + behind, found.total, found.total_exact)
