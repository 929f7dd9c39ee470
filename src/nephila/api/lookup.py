"""What the words of a path name, or a 404."""

import re

from nephila.api.problems import Problem
from nephila.api.query import CRAWL_PATTERN
from nephila.api.services import OpenStore, Services
from nephila.control import crawls
from nephila.frontier.records import UrlRow
from nephila.frontier.store import Crawl
from nephila.models import Kind
from nephila.urls.identity import requisite_key, sitemap_key, url_key


def crawl_named(store: OpenStore, reference: str) -> Crawl:
    return crawls.find(store.catalog, reference)


def find_crawl(services: Services, reference: str) -> Crawl:
    """The crawl with this number or uuid, for async routes, which call it in a thread. It checks the reference."""
    if not re.fullmatch(CRAWL_PATTERN, reference):
        raise crawls.Unknown(f"there is no crawl {reference}")
    with services.pool.use() as store:
        return crawl_named(store, reference)


def live_crawl_named(store: OpenStore, reference: str) -> Crawl:
    """A crawl that is not over; 409 for others."""
    crawl = crawl_named(store, reference)
    if crawl.state.over:
        raise Problem(409, f"crawl {crawl.id} is {crawl.state}: it cannot be changed any more")
    return crawl


def url_of(store: OpenStore, crawl: Crawl, url_id: int) -> UrlRow:
    """A URL of this crawl: its number alone would also find URLs of others."""
    row = store.catalog.url_by_id(url_id)
    own = store.catalog.url(crawl.id, row.host, _key_of(row)) if row is not None else None
    if row is None or own is None or own.id != row.id:
        raise Problem(404, f"crawl {crawl.id} has no URL {url_id}")
    return row


def _key_of(row: UrlRow) -> bytes:
    if row.kind is Kind.SITEMAP:
        return sitemap_key(row.url, row.raw_url or "")
    return requisite_key(row.url) if row.kind is Kind.REQUISITE else url_key(row.url)
