"""Two crawls of a store are compared by the store, and as their exports would be."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from nephila.control import compare
from nephila.control.compare import SAME, By, Change, Difference, Reached, Side, comparable, entries_of, stretch, walk
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl, Outcome
from nephila.models import Kind, PageRecord, UrlState
from tests.contract.backend import Backend
from tests.contract.session import Session, all_urls, child, seeded

Body = bytes | None
Wanted = dict[str, tuple[UrlState, Body]]
VISITED, MISSING, OPEN = UrlState.VISITED, UrlState.NOT_FOUND, UrlState.QUEUED


def crawled(backend: Backend, catalog: Catalog, mark: str, wanted: Wanted) -> Crawl:
    """A crawl whose URLs ended so."""
    crawl = seeded(catalog, *wanted, mark=mark)
    session, urls = Session(backend), all_urls(catalog, crawl)
    session.load(window=len(wanted))
    session.flush(
        outcomes=[
            Outcome(urls[url].id, crawl.id, state, "", 1, PageRecord(status=200, fetched_at=1, content_hash=body), [])
            for url, (state, body) in wanted.items()
            if state is not OPEN
        ],
        released=session.releases(),
    )
    session.frontier.leave()
    return crawl


def told(found: Iterator[Difference]) -> set[tuple[Change, str, str | None, str | None]]:
    return {
        (each.change, each.url, each.first and each.first.state, each.second and each.second.state) for each in found
    }


def test_what_is_gone_added_and_changed(backend: Backend, catalog: Catalog) -> None:
    first = crawled(
        backend,
        catalog,
        "first",
        {
            "http://a.test/same": (VISITED, b"1"),
            "http://a.test/changed": (VISITED, b"1"),
            "http://a.test/lost": (VISITED, b"1"),
            "http://a.test/gone": (VISITED, b"1"),
            "http://b.test/whole-host": (MISSING, None),
            "http://a.test/open": (OPEN, None),
        },
    )
    second = crawled(
        backend,
        catalog,
        "second",
        {
            "http://a.test/same": (VISITED, b"1"),
            "http://a.test/changed": (VISITED, b"2"),
            "http://a.test/lost": (MISSING, b"3"),
            "http://a.test/open": (OPEN, None),
            "http://a.test/added": (VISITED, b"1"),
            "http://c.test/": (OPEN, None),
        },
    )
    catalog.add_seeds(second.id, [child(second, "http://a.test/robots.txt", kind=Kind.ROBOTS)])  # no page
    counts = Counter[str]()
    assert told(walk(catalog, (first.id, second.id), By.CONTENT, counts)) == {
        (Change.GONE, "http://a.test/gone", "visited", None),
        (Change.GONE, "http://b.test/whole-host", "not_found", None),
        (Change.ADDED, "http://a.test/added", None, "visited"),
        (Change.ADDED, "http://c.test/", None, "queued"),
        (Change.STATE, "http://a.test/lost", "visited", "not_found"),
        (Change.CONTENT, "http://a.test/changed", "visited", "visited"),
    }
    assert counts == {"gone": 2, "added": 2, "state": 1, "content": 1, SAME: 2}
    assert list(walk(catalog, (first.id, first.id), By.CONTENT, counts)) == []
    found = next(each for each in stretch(catalog, (first.id, second.id), Reached()).found if each.change == "state")
    assert [known and known.id for known in found[2:]] == [
        all_urls(catalog, crawl)[found.url].id for crawl in (first, second)
    ]


def test_stretches_of_any_length_find_what_exports_would(
    backend: Backend, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(15)
    urls = [f"http://h{number % 5}.test/{number}" for number in range(120)]
    states = [(VISITED, b"1"), (VISITED, b"2"), (MISSING, None), (OPEN, None)]
    both = [
        crawled(backend, catalog, mark, {url: rng.choice(states) for url in rng.sample(urls, 80)})
        for mark in ("first", "second")
    ]
    ids = (both[0].id, both[1].id)
    for by in By:
        expected, counts = Counter[str](), Counter[str]()
        exports = [entries_of(catalog, crawl.id) for crawl in both]
        wanted = told(compare.differences(exports[0], exports[1], by, expected))
        for rows in (1, 7, 80, 1000):
            monkeypatch.setattr(compare, "STRETCH_ROWS", rows)
            counts.clear()
            assert told(walk(catalog, ids, by, counts)) == wanted
            assert counts == expected
    place, found, looked_at = Reached(), [], 0
    while place is not None:
        part = stretch(catalog, ids, place, wanted=frozenset({Change.GONE}), limit=3)
        assert len(part.found) <= 3 and (part.looked_at or part.next is None or part.next == Reached(Side.SECOND))
        found += part.found
        looked_at += part.looked_at
        place = part.next
    assert looked_at == 160
    assert {each.url for each in found} == {url for change, url, *_ in wanted if change is Change.GONE}


def test_crawls_that_normalise_differently_have_other_keys(catalog: Catalog) -> None:
    first, second = seeded(catalog, "http://a.test/"), seeded(catalog, "http://a.test/", norm__fold_www=True)
    assert comparable(first, first) and not comparable(first, second)
