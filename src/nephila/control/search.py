"""Search for the command line and the API: finds the crawl that is meant, asks the index, cuts snippets."""

from dataclasses import dataclass

from nephila.control import crawls
from nephila.control.derivation import pending_bytes
from nephila.frontier.catalog import Catalog
from nephila.search.index import Hit, SearchIndex
from nephila.search.query import Query
from nephila.search.snippet import Part, snippet


@dataclass(frozen=True, slots=True)
class Result:
    crawl_id: int
    crawl_uuid: str
    url_id: int
    url: str
    host: str
    title: str
    snippet: list[Part]
    fetched_at: int
    score: float


@dataclass(frozen=True, slots=True)
class Results:
    results: list[Result]
    total: int
    total_exact: bool
    indexed: int  # pages
    pending_bytes: int  # of the archive
    words: list[str]


def search(
    catalog: Catalog,
    index: SearchIndex,
    query: Query,
    *,
    crawl: str | None = None,
    host: str | None = None,
    limit: int,
    offset: int = 0,
) -> Results:
    """`crawl`: its number or uuid (raises Unknown if there is none); `host`: a politeness key."""
    living = catalog.crawl_uuids()
    if crawl is not None:
        wanted = crawls.find(catalog, crawl)
        living = {wanted.id: wanted.uuid}
    known = index.crawls()
    # A deleted crawl is never shown, though the follower may not have forgotten it yet.
    shown = [number for number, uuid in known.items() if living.get(number) == uuid]
    found = index.search(query, None if len(shown) == len(known) else shown, host, limit, offset)
    return Results(
        [_result(hit, known[hit.document.crawl], query) for hit in found.hits if hit.document.crawl in known],
        found.total,
        found.total_exact,
        index.count(),
        pending_bytes(catalog, index),
        query.words,
    )


def _result(hit: Hit, uuid: str, query: Query) -> Result:
    page = hit.document
    parts = snippet(page.text, query)
    return Result(page.crawl, uuid, page.url_id, page.url, page.host, page.title, parts, page.fetched_at, hit.score)
