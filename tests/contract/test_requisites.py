"""What pages need, in every store: counted apart from pages, listed by kind, under the limits that hold for it."""

import pytest

from nephila.clock import VirtualClock
from nephila.control.progress import Progress, requisites_of
from nephila.control.statistics import crawl_statistics
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter, UrlSort
from nephila.frontier.store import Crawl, Outcome, Row
from nephila.frontier.upkeep import Upkeep
from nephila.models import Child, CrawlState, Kind, PageRecord, Reason, Refusal, Tally, UrlState, requisite_tally
from nephila.policy.priority import priority_of
from tests.contract.backend import Backend
from tests.contract.session import Session, child, ended, seeded, states

A, CDN = "http://a.test/", "http://cdn.test/"
ALL = "scope__requisites"


def needed(crawl: Crawl, *urls: str, parent: int | None = 1) -> list[Child]:
    priority = priority_of(0, Kind.REQUISITE)
    return [child(crawl, url, priority=priority, parent=parent, kind=Kind.REQUISITE) for url in urls]


def end_requisite(row: Row, crawl: Crawl, status: int = 200, state: UrlState = UrlState.VISITED) -> Outcome:
    page = PageRecord(status=status, content_type="image/png", body_bytes=5, fetched_at=1)
    return Outcome(row.id, crawl.id, state, "", 1, page, [], counts=False, kind=Kind.REQUISITE)


def brought(session: Session, crawl: Crawl, links: list[str], requisites: list[str]) -> None:
    """The seed is visited: it links to pages and needs some URLs."""
    row = next(row for row in session.load() if row.url == crawl.seeds[0])
    outcome = ended(row, crawl, *links)
    outcome.children += needed(crawl, *requisites, parent=row.id)
    session.flush(outcomes=[outcome], released=session.releases())


def listed(catalog: Catalog, crawl: Crawl, kind: Kind | None, *wanted: UrlState) -> list[str]:
    return [row.url for row in catalog.urls_page(crawl.id, 0, 100, UrlFilter(wanted, kind=kind)).rows]


def test_they_are_counted_apart_from_the_first_to_the_last_state(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, **{ALL: "all"})
    session = Session(backend)
    brought(session, crawl, [f"{A}1", f"{A}2"], [f"{A}x.png", f"{A}y.png", f"{CDN}z.css"])
    tallies = catalog.tallies(crawl.id)
    assert (tallies[Tally.URLS], tallies["visited"], tallies["queued"], tallies[Tally.HOSTS]) == (3, 1, 2, 2)
    assert tallies[requisite_tally(Tally.URLS)] == tallies["requisite:queued"] == 3
    assert tallies["depth:1"] == 2
    rows = {row.url: row for row in session.load()}
    session.flush(in_flight=[(rows[f"{A}x.png"].id, 1), (rows[f"{A}1"].id, 1)])
    tallies = catalog.tallies(crawl.id)
    assert (tallies["in_progress"], tallies["requisite:in_progress"]) == (1, 1)
    gone = end_requisite(rows[f"{A}y.png"], crawl, 404, UrlState.NOT_FOUND)
    session.flush(outcomes=[end_requisite(rows[f"{A}x.png"], crawl), gone, ended(rows[f"{A}1"], crawl)])
    found = requisites_of(catalog.tallies(crawl.id))
    assert (found.urls, found.queued, found.broken, found.errors) == (3, 1, 1, {"not_found": 1})
    assert found.states == {UrlState.VISITED: 1, UrlState.NOT_FOUND: 1}
    shown = Progress(catalog, crawl.id, VirtualClock()).snapshot().as_json()
    assert (shown["urls"], shown["pages"], shown["errors"]) == (3, 2, {})
    known = crawl_statistics(catalog, crawl)
    assert (known.urls, known.statuses, known.content_types) == (3, {"200": 2}, {"text/html": 2})
    assert known.hosts == {"a.test": 3}
    assert catalog.check() == []


def test_those_that_end_without_a_request_and_open_again_are_counted_apart_too(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, A, limits__max_bytes=10, **{ALL: "all"})
    session = Session(backend)
    brought(session, crawl, [f"{A}1"], [f"{A}x.png", f"{A}y.png"])
    session.flush(tallies={(crawl.id, Tally.BYTES): 10})
    upkeep.run_once()
    for _ in range(3):
        session.load()
    tallies = catalog.tallies(crawl.id)
    assert (tallies["excluded"], tallies["requisite:excluded"]) == (1, 2)
    assert tallies["requisite:reason:limit_bytes"] == 2
    upkeep.run_once()
    over = catalog.crawl(crawl.id)
    assert (over.state, over.reason) == (CrawlState.COMPLETED, Reason.LIMIT_BYTES)
    assert catalog.check() == []
    catalog.reopen(crawl.id, over.settings)
    catalog.open_again(crawl.id)
    catalog.seeded(crawl.id)
    tallies = catalog.tallies(crawl.id)
    assert (tallies["queued"], tallies["requisite:queued"]) == (1, 2)
    assert catalog.check() == []


def test_a_listing_has_one_kind_or_all(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, **{ALL: "all"})
    session = Session(backend)
    brought(session, crawl, [f"{A}1"], [f"{A}x.png", f"{A}y.png"])
    pages, requisites = [A, f"{A}1"], [f"{A}x.png", f"{A}y.png"]
    assert listed(catalog, crawl, Kind.PAGE) == pages
    assert listed(catalog, crawl, Kind.REQUISITE) == requisites
    assert sorted(listed(catalog, crawl, None)) == sorted(pages + requisites)
    assert listed(catalog, crawl, Kind.REQUISITE, UrlState.QUEUED) == requisites
    assert listed(catalog, crawl, Kind.REQUISITE, UrlState.VISITED) == []
    for kind, urls in ((Kind.PAGE, pages), (Kind.REQUISITE, requisites)):
        where = UrlFilter(kind=kind)
        rows = catalog.sorted_urls(crawl.id, where, UrlSort.URL, descending=True, limit=10, offset=0)
        assert [row.url for row in rows] == sorted(urls, reverse=True)
        assert catalog.count_urls(crawl.id, where) == len(urls)
        assert catalog.count_urls(crawl.id, UrlFilter((UrlState.QUEUED,), kind=kind, host="a.test")) == len(urls) - (
            kind is Kind.PAGE
        )
    assert catalog.count_urls(crawl.id, UrlFilter()) == 4


def test_what_is_a_page_is_no_requisite_and_a_link_to_a_requisite_is_a_page(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, **{ALL: "all"})
    session = Session(backend)
    brought(session, crawl, [f"{A}both", f"{A}first"], [f"{A}both", f"{A}x.png"])
    assert listed(catalog, crawl, Kind.REQUISITE) == [f"{A}x.png"]
    row = next(row for row in session.load() if row.url == f"{A}first")
    later = ended(row, crawl, f"{A}x.png")
    later.children += needed(crawl, f"{A}both", f"{A}first", parent=row.id)
    session.flush(outcomes=[later])
    assert listed(catalog, crawl, Kind.REQUISITE) == [f"{A}x.png"]
    assert listed(catalog, crawl, Kind.PAGE) == [A, f"{A}both", f"{A}first", f"{A}x.png"]
    assert catalog.check() == []


def test_max_urls_holds_for_them_and_max_frontier_does_not(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, limits__max_urls=4, **{ALL: "all"})
    session = Session(backend)
    brought(session, crawl, [f"{A}1"], [f"{A}{number}.png" for number in range(5)])
    assert len(listed(catalog, crawl, None)) == 4
    assert {reason: n for _, reason, n in catalog.refusals(crawl.id)} == {Refusal.LIMIT: 3}
    assert catalog.check() == []
    open_pages = seeded(catalog, CDN, limits__max_frontier=2, **{ALL: "all"})
    brought(session, open_pages, [f"{CDN}{number}" for number in range(5)], [f"{CDN}{n}.png" for n in range(9)])
    assert len(listed(catalog, open_pages, Kind.REQUISITE)) == 9
    assert len(listed(catalog, open_pages, Kind.PAGE)) == 1 + 2
    assert catalog.check() == []


def test_an_eviction_leaves_them(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A, limits__max_frontier=2, limits__evict=True, **{ALL: "all"})
    session = Session(backend)
    brought(session, crawl, [f"{A}{number}" for number in range(9)], [f"{A}x.png"])
    session.flush(released=session.releases())
    upkeep.run_once()
    assert catalog.tallies(crawl.id)["evicted"] > 0
    assert listed(catalog, crawl, Kind.REQUISITE, UrlState.QUEUED) == [f"{A}x.png"]
    assert catalog.check() == []


@pytest.mark.parametrize("wanted", ["none", "all"])
def test_at_max_pages_only_a_crawl_with_requisites_goes_on(
    backend: Backend, catalog: Catalog, upkeep: Upkeep, wanted: str
) -> None:
    crawl = seeded(catalog, A, limits__max_pages=1, **{ALL: wanted})
    session = Session(backend)
    (row,) = session.load(grants_wanted={crawl.id: 1})
    outcome = ended(row, crawl, f"{A}1")
    outcome.children += needed(crawl, f"{A}x.png", parent=row.id) if wanted == "all" else []
    session.flush(outcomes=[outcome], grants_wanted={crawl.id: 1}, released=session.releases())
    now = catalog.crawl(crawl.id)
    assert now.limited_by == "max_pages"
    if wanted == "none":
        assert (now.state, now.pages_over) == (CrawlState.ENDING, False)
        return
    assert (now.state, now.pages_over) == (CrawlState.RUNNING, True)
    rows = {row.url: row for row in session.load()}
    refused = Outcome(rows[f"{A}1"].id, crawl.id, UrlState.EXCLUDED, Reason.LIMIT_PAGES, 0)
    session.flush(outcomes=[refused, end_requisite(rows[f"{A}x.png"], crawl)], released=session.releases())
    session.load()
    upkeep.run_once()
    over = catalog.crawl(crawl.id)
    assert (over.state, over.reason, over.limited_by) == (CrawlState.COMPLETED, Reason.LIMIT_PAGES, "max_pages")
    assert states(catalog, crawl) == {
        A: UrlState.VISITED, f"{A}1": UrlState.EXCLUDED, f"{A}x.png": UrlState.VISITED,
    }  # fmt: skip
    # It can go on, as after any limit.
    catalog.reopen(crawl.id, over.settings)
    catalog.open_again(crawl.id)
    catalog.seeded(crawl.id)
    assert states(catalog, crawl)[f"{A}1"] is UrlState.QUEUED
    assert catalog.check() == []
