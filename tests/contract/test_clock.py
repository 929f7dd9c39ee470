"""The clock under a store is set back, or put right again: no host waits for it, and no rest gets shorter."""

import pytest

from nephila.frontier.catalog import Catalog
from nephila.frontier.store import HostClock, Retry
from nephila.frontier.upkeep import Upkeep
from nephila.policy.politeness import Pace
from tests.contract.backend import Backend
from tests.contract.session import Session, seeded

A, B = "http://a.test/", "http://b.test/"
HOUR_MS = 3_600_000
REST_MS = 120_000
STEP_MS = 5000  # between two looks of somebody who works
SLACK_MS = 10_000  # the store notes the time every few seconds


def worked_on(backend: Backend, *, rest_ms: int) -> Session:
    """A session that gave one host back for a rest, with a row to be tried again, and holds another."""
    session = Session(backend)
    session.load()
    row = session.row(A)
    resting = HostClock("a.test", rest_ms, 1000, Pace(), "retry_after", 1)
    released = [release for release in session.releases(rest_ms) if release.queue == session.queue_of("a.test")]
    again = Retry(row.id, 1, rest_ms, 1, 0, "http_5xx")
    session.flush(clocks=[resting], retries=[again], released=released)
    return session


def set_clock(backend: Backend, upkeep: Upkeep, by_ms: int) -> None:
    upkeep.run_once()
    backend.clock.start_ms += by_ms
    upkeep.run_once()


@pytest.mark.requirement("F-07")
def test_a_clock_that_is_set_back_stalls_no_host(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    seeded(catalog, A, B)
    dead = worked_on(backend, rest_ms=1000)
    backend.kill(dead.frontier)
    set_clock(backend, upkeep, -HOUR_MS)
    heir = Session(backend)
    backend.clock.advance(SLACK_MS)
    heir.load()
    assert sorted(heir.urls()) == [A, B]
    assert catalog.check() == []


def test_a_clock_that_is_set_back_between_two_runs_stalls_no_host(backend: Backend, catalog: Catalog) -> None:
    """Nobody saw it happen."""
    seeded(catalog, A, B)
    worked_on(backend, rest_ms=1000).frontier.leave()
    backend.clock.start_ms -= HOUR_MS
    heir = Session(backend)
    backend.clock.advance(SLACK_MS)
    heir.load()
    assert sorted(heir.urls()) == [A, B]


@pytest.mark.requirement("F-07")
@pytest.mark.parametrize("steps", [[-HOUR_MS], [-HOUR_MS, HOUR_MS], [-HOUR_MS, -HOUR_MS, 2 * HOUR_MS]])
def test_a_rest_lasts_as_long_as_it_was_meant_to(
    steps: list[int], backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    """Set back, and put right again while somebody looks on."""
    seeded(catalog, A, B)
    session = worked_on(backend, rest_ms=REST_MS)
    session.frontier.lease({})
    upkeep.run_once()
    for by_ms in steps:
        backend.clock.start_ms += by_ms
        session.load()  # before anybody has noted the time
        assert session.urls() == [B], "the other one rests"
        upkeep.run_once()
    found = catalog.host("a.test")
    assert found is not None and REST_MS - SLACK_MS <= found.next_in_ms <= REST_MS + SLACK_MS
    for _ in range(REST_MS // STEP_MS + 3):
        backend.clock.advance(STEP_MS)
        upkeep.run_once()
    session.load()
    assert sorted(session.urls()) == [A, B]


def test_how_long_a_crawl_runs_does_not_depend_on_the_clock(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A)
    backend.clock.advance(60_000)
    set_clock(backend, upkeep, -HOUR_MS)
    backend.clock.advance(60_000)
    active_ms = catalog.crawl(crawl.id).active_ms
    assert 120_000 - SLACK_MS <= active_ms <= 120_000
