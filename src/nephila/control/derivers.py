"""What is derived of an archived page: one function for each derivation. They run in a helper process only."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from nephila.control.pages import PageContent
from nephila.extract.anchors import Anchor, anchors_of
from nephila.extract.directives import directives_of
from nephila.extract.page import is_html
from nephila.extract.text import text_of
from nephila.links.index import REDIRECT, Link, packed_links, target_number
from nephila.profiles import NormSettings
from nephila.urls.normalize import Normalizer

SEARCH, LINKS = "search", "links"


class CrawlRules(NamedTuple):
    """What deriving needs to know of a crawl."""

    crawl: int
    body_bytes_max: int
    obeys_robots: bool
    norm: NormSettings


class DeriveJob(NamedTuple):
    """One record, and the names of what is derived of it."""

    offset: int
    length: int
    url: str
    content_type: str | None
    rules: CrawlRules
    names: tuple[str, ...]


def search_text(page: PageContent, job: DeriveJob) -> str | None:
    """The text that a page is found by; None where it asks not to be found."""
    tags = page.header("x-robots-tag")
    # The row of an HTML page says so itself; the crawl does not look for it in other types.
    if tags and job.rules.obeys_robots and directives_of((), tags).noindex:
        return None
    # What has no text is found by its address.
    return text_of(page.body, job.content_type) or unquote(job.url)


def page_links(page: PageContent, job: DeriveJob) -> tuple[list[int], bytes] | None:
    """The numbers of all targets of a page, and its links, packed; None where there are none."""
    answer = page.response
    if 300 <= answer.status < 400:
        anchors = [Anchor(target, "", REDIRECT) for target in page.header("location")[:1]]
        links = _links(anchors, answer.url, job.rules.norm)
    elif is_html(job.content_type, page.body):
        base, anchors = anchors_of(page.body, answer.url, job.content_type)
        links = _links(anchors, base, job.rules.norm)
    else:
        return None
    # That a page links to itself is of no interest to whoever asks who links to it.
    targets = [target_number(job.rules.crawl, link.url) for link in links if link.url != job.url]
    return (targets, packed_links(links)) if links else None


def _links(anchors: Iterable[Anchor], base: str, norm: NormSettings) -> list[Link]:
    """Those to web addresses, each URL once; of several the first with a text counts."""
    normalizer = _normalizer(norm)
    found: dict[str, Link] = {}
    for href, text, rel in anchors:
        url = normalizer.resolve(href, base)[0]
        if url is not None and not ((known := found.get(url)) and (known.text or not text)):
            found[url] = Link(url, text, rel)
    return list(found.values())


@lru_cache(8)
def _normalizer(norm: NormSettings) -> Normalizer:
    return Normalizer(norm)


DERIVERS: dict[str, Callable[[PageContent, DeriveJob], Any]] = {SEARCH: search_text, LINKS: page_links}
