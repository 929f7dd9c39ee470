"""What sitemaps list, in every store: what they say of URLs, which are listed or linked; deleted with its crawl."""

import json

import pytest

from nephila.control.sitemaps import how_found, list_sitemaps, unlinked, unlisted
from nephila.errors import UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Crawl, Outcome, Row, SitemapEntry
from nephila.frontier.upkeep import Upkeep
from nephila.models import Child, Kind, PageRecord, Tally, UrlState, sitemap_tally
from nephila.policy.priority import priority_of
from nephila.urls.identity import host_of, sitemap_key, url_key
from tests.contract.backend import Backend
from tests.contract.session import Session, child, ended, seeded

A, B = "http://a.test/", "http://b.test/"
MAP = f"{A}sitemap.xml"
NOTES = {"changefreq": "daily"}


def sitemap(crawl: Crawl, url: str = MAP, speaks_for: str | None = "a.test", parent: int | None = None) -> Child:
    key, priority = sitemap_key(url, speaks_for or ""), priority_of(0, Kind.SITEMAP)
    return Child(crawl.id, host_of(url), key, url, 0, priority, parent, speaks_for, None, Kind.SITEMAP)


def entry(crawl: Crawl, url: str, listed_by: int, lastmod: int | None = None) -> SitemapEntry:
    notes = json.dumps(NOTES) if lastmod else None
    return SitemapEntry(crawl.id, host_of(url), url_key(url), listed_by, lastmod, 0.8 if lastmod else None, notes)


def end_sitemap(row: Row, crawl: Crawl, children: list[Child], problem: str = "") -> Outcome:
    told: dict[str, object] = {"format": "urlset", "entries": 3, "admitted": len(children), "images": 7}
    page = PageRecord(status=200, body_bytes=5, fetched_at=1, facts={"sitemap": told}, error=problem or None)
    return Outcome(row.id, crawl.id, UrlState.VISITED, "", 1, page, children, counts=False, kind=Kind.SITEMAP)


def linking(row: Row, crawl: Crawl, *urls: str) -> Outcome:
    """A page with links that were kept."""
    outcome = ended(row, crawl, *urls)
    assert outcome.page is not None
    outcome.page.links = {"a.test": b"".join(url_key(url)[:8] for url in urls)}
    return outcome


def listing(backend: Backend, catalog: Catalog, **settings: object) -> tuple[Crawl, Session, int]:
    """The home page links to /linked and to itself; the sitemap lists the home page, /listed, /both and /late."""
    crawl = seeded(catalog, A, **settings)
    session = Session(backend)
    session.flush(children=[sitemap(crawl)])
    rows = {row.url: row for row in session.load()}
    session.flush(outcomes=[linking(rows[A], crawl, A, f"{A}linked", f"{A}both")], released=session.releases())
    found = next(row for row in session.load() if row.kind is Kind.SITEMAP)
    pages = [A, f"{A}listed", f"{A}both", f"{A}late"]
    children = [child(crawl, url, depth=1, parent=found.id) for url in pages]
    entries = [entry(crawl, url, found.id, 1000 if url.endswith("listed") else None) for url in pages]
    # The first chunk comes before the row has ended, as a sitemap that is delivered; then all, as after a kill.
    session.flush(children=children[:2], entries=entries[:2])
    session.flush(outcomes=[end_sitemap(found, crawl, children)], entries=entries, released=session.releases())
    return crawl, session, found.id


def test_what_a_sitemap_says_is_kept_once_of_known_urls_too(backend: Backend, catalog: Catalog) -> None:
    crawl, _, number = listing(backend, catalog)
    note = catalog.sitemap_note(crawl.id, url_id(catalog, crawl, f"{A}listed"))
    assert note is not None
    assert tuple(note) == (number, MAP, 1000, 0.8, NOTES)
    home = catalog.sitemap_note(crawl.id, url_id(catalog, crawl, A))
    assert home is not None and tuple(home) == (number, MAP, None, None, {})
    assert catalog.sitemap_note(crawl.id, url_id(catalog, crawl, f"{A}linked")) is None
    assert catalog.check() == []


def url_id(catalog: Catalog, crawl: Crawl, url: str) -> int:
    row = catalog.url(crawl.id, host_of(url), url_key(url))
    assert row is not None
    return row.id


def test_sitemaps_are_counted_and_listed_apart(backend: Backend, catalog: Catalog) -> None:
    crawl, _, number = listing(backend, catalog)
    tallies = catalog.tallies(crawl.id)
    assert (tallies[Tally.URLS], tallies[sitemap_tally(Tally.URLS)], tallies["sitemap:visited"]) == (5, 1, 1)
    assert catalog.count_urls(crawl.id, UrlFilter(kind=Kind.SITEMAP)) == 1
    assert [row.url for row in catalog.urls(crawl.id, 0, 10, UrlFilter(kind=Kind.SITEMAP))] == [MAP]
    (found,) = list_sitemaps(catalog, crawl)
    known = (found.id, found.url, found.state, found.format, found.entries, found.admitted, found.problem)
    assert known == (number, MAP, UrlState.VISITED, "urlset", 3, 4, "")
    assert (found.images, found.videos, found.news, found.alternates) == (7, 0, 0, 0)
    assert found.found == "named in robots.txt of a.test"


def test_pages_that_only_a_sitemap_lists(backend: Backend, catalog: Catalog) -> None:
    crawl, session, _ = listing(backend, catalog)
    # /both was found by a link; the home page links to itself, which does not count; nobody links to the others.
    assert [page.url for page in unlinked(catalog, crawl)] == [A, f"{A}listed", f"{A}late"]
    rows = {row.url: row for row in session.load()}
    session.flush(outcomes=[linking(rows[f"{A}linked"], crawl, f"{A}late", A)], released=session.releases())
    assert [page.url for page in unlinked(catalog, crawl)] == [f"{A}listed"]


def test_pages_that_only_links_lead_to(backend: Backend, catalog: Catalog) -> None:
    crawl, session, _ = listing(backend, catalog)
    assert list(unlisted(catalog, crawl)) == []  # /linked is not visited yet
    rows = {row.url: row for row in session.load()}
    found = linking(rows[f"{A}linked"], crawl, f"{B}elsewhere")
    session.flush(outcomes=[found], released=session.releases())
    elsewhere = next(row for row in session.load() if row.url == f"{B}elsewhere")
    session.flush(outcomes=[ended(elsewhere, crawl)])
    assert [page.url for page in unlisted(catalog, crawl)] == [f"{A}linked"]  # no sitemap is of b.test


def test_without_links_nobody_knows_what_is_linked(backend: Backend, catalog: Catalog) -> None:
    crawl, _, _ = listing(backend, catalog, content__edges=False)
    with pytest.raises(UsageError, match=r"content\.edges"):
        list(unlinked(catalog, crawl))


def test_it_is_deleted_with_its_crawl(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl, session, _ = listing(backend, catalog)
    session.frontier.leave()
    other, _, _ = listing(backend, catalog, scope__max_depth=3)
    number = url_id(catalog, crawl, f"{A}listed")
    catalog.delete(crawl.id)
    while upkeep.purge(crawl.id, 3):
        pass
    assert catalog.sitemap_note(crawl.id, number) is None
    assert catalog.sitemap_note(other.id, url_id(catalog, other, f"{A}listed")) is not None


@pytest.mark.parametrize(
    ("speaks_for", "listed", "words"),
    [
        ("*", False, "given by hand"),
        ("a.test", False, "named in robots.txt of a.test"),
        (None, False, "looked for at its usual place"),
        ("a.test", True, "listed by another sitemap, or redirected to"),
    ],
)
def test_how_a_sitemap_was_found_is_told(speaks_for: str | None, listed: bool, words: str) -> None:
    assert how_found(speaks_for, listed=listed) == words
