"""From the words of a path to what they name, or a 404."""

from nephila.api.problems import Problem
from nephila.api.services import Store
from nephila.control import crawls
from nephila.frontier.store import Crawl, UrlRow
from nephila.urls.identity import url_key


def crawl_named(store: Store, reference: str) -> Crawl:
    return crawls.find(store.catalog, reference)


def live_crawl_named(store: Store, reference: str) -> Crawl:
    """One that is not over."""
    crawl = crawl_named(store, reference)
    if crawl.state.over:
        raise Problem(409, f"crawl {crawl.id} is {crawl.state}: it cannot be changed any more")
    return crawl


def url_of(store: Store, crawl: Crawl, url_id: int) -> UrlRow:
    """A URL of this crawl: its number alone would also find those of others."""
    row = store.catalog.url_by_id(url_id)
    own = store.catalog.url(crawl.id, row.host, url_key(row.url)) if row is not None else None
    if row is None or own is None or own.id != row.id:
        raise Problem(404, f"crawl {crawl.id} has no URL {url_id}")
    return row
