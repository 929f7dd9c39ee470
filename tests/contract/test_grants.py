"""Limits that change while a crawl runs, and how its pages are handed out then."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from nephila.frontier.catalog import Catalog
from nephila.frontier.crawls import change_settings
from nephila.frontier.grants import Share, share_of
from nephila.frontier.postgres.connection import PostgresWriter
from nephila.frontier.store import Crawl
from nephila.frontier.upkeep import Upkeep
from nephila.models import CrawlState, Refusal, UrlState
from nephila.profiles import CrawlSettings
from tests.contract.backend import Backend, PostgresBackend
from tests.contract.session import Session, child, ended, seeded, states
from tests.patience import PATIENCE_SECONDS

SEEDS = tuple(f"http://a.test/{number}" for number in range(9))


def limited(crawl: Crawl, **limits: int | None) -> CrawlSettings:
    changed = crawl.settings.limits.model_copy(update=limits)
    return crawl.settings.model_copy(update={"limits": changed})


@pytest.mark.parametrize(
    ("left", "in_hand", "used", "wanted", "share"),
    [
        (10, 0, 0, 4, Share(4, 4, False)),
        (3, 0, 0, 4, Share(3, 3, True)),
        (3, 4, 1, 4, Share(4, 1, False)),
        (0, 4, 4, 4, Share(0, 0, True)),
        (5, 4, 1, 0, Share(0, -3, False)),  # no use for them
        (5, 4, 1, None, Share(3, 0, False)),  # not asked: kept
        (-2, 5, 0, 5, Share(3, -2, True)),  # lowered by two
        (-9, 5, 0, 5, Share(0, -5, True)),  # lowered below what is brought
        (-9, 5, 0, 0, Share(0, -5, True)),
        (6, 0, 2, 3, Share(3, 5, False)),  # two were sent for before there was a limit
        (1, 0, 2, 3, Share(0, 2, True)),
        (9, 0, 2, None, Share(0, 2, False)),
    ],
)
def test_shares(left: int, in_hand: int, used: int, wanted: int | None, share: Share) -> None:
    found = share_of(left, in_hand, used, wanted)
    assert found == share
    assert found.in_hand >= 0
    assert found.granted == used + found.in_hand - in_hand, "nothing is lost"


class Asking:
    """A session that brings pages of one crawl."""

    def __init__(self, backend: Backend, catalog: Catalog, crawl: Crawl) -> None:
        self.session, self.catalog, self.crawl = Session(backend), catalog, crawl
        self.rows = iter(self.session.load())

    def bring(self, pages: int, wanted: int | None = None) -> int | None:
        """What it has in hand afterwards."""
        outcomes = [ended(next(self.rows), self.crawl) for _ in range(pages)]
        asked = {} if wanted is None else {self.crawl.id: wanted}
        return self.session.flush(outcomes=outcomes, grants_wanted=asked).grants.get(self.crawl.id)

    def change(self, **limits: int | None) -> None:
        crawl = self.catalog.crawl(self.crawl.id)
        self.catalog.change_settings(crawl.id, limited(crawl, **limits))

    @property
    def ending(self) -> bool:
        return self.catalog.crawl(self.crawl.id).state is CrawlState.ENDING


@pytest.mark.requirement("F-16")
def test_a_raised_limit_grants_more(backend: Backend, catalog: Catalog) -> None:
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS, limits__max_pages=3))
    assert asking.bring(2, wanted=9) == 1
    asking.change(max_pages=6)
    assert asking.bring(1, wanted=9) == 3
    assert not asking.ending
    assert asking.bring(3, wanted=9) == 0
    assert asking.ending


@pytest.mark.requirement("F-16")
def test_a_lowered_limit_takes_back_what_is_not_used(backend: Backend, catalog: Catalog) -> None:
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS, limits__max_pages=9))
    assert asking.bring(0, wanted=9) == 9
    asking.change(max_pages=5)
    assert asking.bring(2, wanted=7) == 3
    asking.change(max_pages=1)
    assert asking.bring(0, wanted=7) == 0
    assert asking.ending, "it has more than it may"
    assert asking.bring(1, wanted=0) == 0, "what is in flight is still brought"
    assert catalog.tallies(asking.crawl.id)["visited"] == 3


def test_what_a_limit_has_ended_stays_ended(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS, limits__max_pages=1))
    asking.bring(0, wanted=1)
    asking.bring(1, wanted=1)
    asking.change(max_pages=9)
    asking.session.flush(released=asking.session.releases())
    asking.session.load()
    upkeep.run_once()
    over = catalog.crawl(asking.crawl.id)
    assert (over.state, over.limited_by) == (CrawlState.COMPLETED, "max_pages")
    assert list(states(catalog, over).values()).count(UrlState.EXCLUDED) == len(SEEDS) - 1


@pytest.mark.requirement("F-16")
def test_a_first_limit_counts_what_was_there_before(backend: Backend, catalog: Catalog) -> None:
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS))
    asking.bring(3)
    asking.change(max_pages=6)
    assert asking.bring(1) is None, "was in flight: it counts, too"
    assert asking.bring(0, wanted=9) == 2
    assert asking.bring(2, wanted=9) == 0
    assert asking.ending
    assert catalog.tallies(asking.crawl.id)["visited"] == 6


def test_a_limit_that_is_met_already_ends_the_crawl(backend: Backend, catalog: Catalog) -> None:
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS))
    asking.bring(3)
    asking.change(max_pages=2)
    assert asking.bring(0, wanted=9) == 0
    assert asking.ending


def test_a_limit_that_is_removed_and_set_again(backend: Backend, catalog: Catalog) -> None:
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS, limits__max_pages=4))
    assert asking.bring(0, wanted=2) == 2
    asking.change(max_pages=None)
    asking.bring(5)
    assert not asking.ending
    asking.change(max_pages=8)
    assert asking.bring(0, wanted=9) == 3
    assert asking.bring(3, wanted=9) == 0
    assert asking.ending


def test_a_page_that_was_being_committed_when_the_limit_came_counts(backend: Backend, catalog: Catalog) -> None:
    """Its flush began before the change, waited for it, and knows only what was before."""
    if not isinstance(backend, PostgresBackend):
        pytest.skip("one writer at a time")
    asking = Asking(backend, catalog, seeded(catalog, *SEEDS))
    asking.bring(1)
    with ThreadPoolExecutor(1) as flushing:
        with backend.database().write() as cursor:
            PostgresWriter(cursor).rows("wait_for_flushes")
            waiting = flushing.submit(asking.bring, 2)
            await_lock(backend.url)
            change_settings(asking.crawl.id, limited(asking.crawl, max_pages=6), PostgresWriter(cursor))
        waiting.result()
    assert asking.bring(0, wanted=9) == 3
    assert asking.bring(3, wanted=9) == 0
    assert asking.ending


def await_lock(url: str) -> None:
    waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    end = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute(waits).fetchall()[0][0]:
            assert time.monotonic() < end, "nobody waits"


def test_max_urls_may_be_raised_and_lowered(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, *SEEDS[:2], limits__max_urls=2)
    session = Session(backend)

    def found(*names: str) -> int:
        session.flush(children=[child(crawl, f"http://b.test/{name}") for name in names])
        return catalog.tallies(crawl.id)["urls"]

    assert found("1") == 2
    catalog.change_settings(crawl.id, limited(crawl, max_urls=4))
    assert found("1", "2", "3") == 4
    catalog.change_settings(crawl.id, limited(crawl, max_urls=1))
    assert found("4") == 4
    assert catalog.refusals(crawl.id) == [("b.test", Refusal.LIMIT, 3)]
    assert [link.url for link in catalog.refused_links(crawl.id)] == [
        "http://b.test/1",
        "http://b.test/3",
        "http://b.test/4",
    ]
    assert catalog.check() == []


def test_time_and_bytes_may_be_changed(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, *SEEDS, limits__max_seconds=10)
    session = Session(backend)
    session.flush(tallies={(crawl.id, "bytes"): 100})
    catalog.change_settings(crawl.id, limited(crawl, max_seconds=20))
    backend.clock.advance(19_999)
    assert upkeep.run_once()["limited"] == 0
    catalog.change_settings(crawl.id, limited(crawl, max_seconds=None, max_bytes=101))
    backend.clock.advance(1)
    assert upkeep.run_once()["limited"] == 0
    catalog.change_settings(crawl.id, limited(crawl, max_seconds=None, max_bytes=100))
    assert upkeep.run_once()["limited"] == 1
    assert catalog.crawl(crawl.id).limited_by == "max_bytes"
