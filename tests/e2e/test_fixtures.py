"""Every fixed site, crawled for real: the rows must be exactly those worked out by hand."""

from collections import Counter

import pytest

from nephila.control import crawls
from nephila.frontier.store import Crawl
from nephila.profiles import crawl_settings
from tests.e2e.harness import Place, Places, run_here
from tests.site.fixtures import FIXTURES, Fixture
from tests.site.politeness import violations
from tests.site.server import TestWeb


@pytest.mark.requirement(
    "T-02",
    "F-02",
    "F-07",
    "F-09",
    "R-02",
    "R-03",
    "R-05",
    "R-06",
    "R-07",
    "R-08",
    "R-10",
    "R-13",
    "N-03",
    "SC-01",
    "RB-01",
    "RB-05",
    "RB-07",
    "W-12",
)
@pytest.mark.parametrize("name", FIXTURES)
def test_the_export_is_what_was_worked_out_by_hand(name: str, places: Places) -> None:
    with TestWeb() as web:
        fixture = FIXTURES[name](web.port)
        web.add(fixture.sites)
        place = places(resolve=fixture.resolve)
        crawl = place_start(place, fixture)
        run_here(place, crawl.id)
        rows = {row.url: row for row in place.rows(crawl.id)}
        ids = {row.id: row.url for row in rows.values()}
        assert {url: str(row.state) for url, row in rows.items()} == {
            url: str(e.state) for url, e in fixture.expected.items()
        }
        for url, expected in fixture.expected.items():
            row = rows[url]
            if expected.reason is not None:
                assert row.reason == expected.reason, url
            if expected.discovered_from:
                assert row.discovered_from is not None
                assert ids[row.discovered_from] in expected.discovered_from, url
            assert row.depth == expected.depth, url
        hits = web.hits()
        asked = Counter(f"http://{hit.host}:{web.port}{hit.path}" for hit in hits)
        for url, expected in fixture.expected.items():
            if expected.requests is not None:
                assert asked[url] == expected.requests, (url, asked)
        assert violations(hits, fixture.delay_ms) == []
        assert place.store().catalog.check() == []


def place_start(place: Place, fixture: Fixture) -> Crawl:
    return crawls.start(place.store().catalog, list(fixture.seeds), crawl_settings("default", fixture.settings))[0]
