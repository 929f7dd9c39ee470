"""The history of a crawl: samples over the whole of its life, taken by whoever does upkeep, in a bounded number."""

from itertools import pairwise

import pytest

from nephila.frontier import history
from nephila.frontier.catalog import Catalog
from nephila.frontier.history import STEP_MS
from nephila.frontier.upkeep import Upkeep
from nephila.models import CrawlState, Tally, UrlState
from tests.contract.backend import Backend
from tests.contract.session import Session, ended, seeded

SEEDS = [f"http://h{number}.test/" for number in range(6)]


def passes(backend: Backend, upkeep: Upkeep, steps: int = 1) -> None:
    for _ in range(steps):
        backend.clock.advance(STEP_MS)
        upkeep.run_once()


def test_a_sample_is_taken_with_each_step_and_at_the_end(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, *SEEDS)
    upkeep.run_once()
    upkeep.run_once()
    session = Session(backend)
    rows = session.load()
    session.flush(outcomes=[ended(row, crawl) for row in rows[:2]], tallies={(crawl.id, Tally.ANSWERED): 3})
    passes(backend, upkeep)
    failed = [ended(row, crawl, state=UrlState.NOT_FOUND) for row in rows[2:]]
    session.flush(outcomes=failed, released=session.releases())
    backend.clock.advance(1)
    upkeep.run_once()
    assert catalog.crawl(crawl.id).state is CrawlState.COMPLETED
    passes(backend, upkeep, 3)
    samples = catalog.history(crawl.id)
    assert [sample[1:] for sample in samples] == [(0, 0, 6, 0), (3, 2, 4, 0), (3, 6, 0, 4)]
    assert samples[-1].at == catalog.crawl(crawl.id).ended_at


def test_two_who_do_upkeep_take_one_sample(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl, other = seeded(catalog, *SEEDS), backend.upkeep()
    for _ in range(5):
        passes(backend, upkeep)
        backend.clock.advance(1)
        other.run_once()
    assert len(catalog.history(crawl.id)) == 5


def test_a_paused_crawl_has_no_samples(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, *SEEDS)
    passes(backend, upkeep, 2)
    catalog.steer(crawl.id, CrawlState.PAUSED, "by a test")
    passes(backend, upkeep, 5)
    assert len(catalog.history(crawl.id)) == 2
    catalog.steer(crawl.id, CrawlState.RUNNING)
    passes(backend, upkeep)
    assert len(catalog.history(crawl.id)) == 3


def test_samples_are_bounded_and_even_and_the_first_stays(
    backend: Backend, catalog: Catalog, upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SAMPLES_MAX", 16)
    crawl = seeded(catalog, *SEEDS)
    passes(backend, upkeep)
    first = catalog.history(crawl.id)[0].at
    for _ in range(100):
        passes(backend, upkeep)
        assert len(catalog.history(crawl.id)) <= 16
    times = [sample.at for sample in catalog.history(crawl.id)]
    assert times[0] == first and backend.clock.now_ms() - times[-1] < 8 * STEP_MS
    assert {later - earlier for earlier, later in pairwise(times)} == {8 * STEP_MS}


def test_it_goes_with_its_crawl(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl, kept = seeded(catalog, *SEEDS), seeded(catalog, "http://other.test/")
    passes(backend, upkeep, 2)
    catalog.delete(crawl.id)
    while upkeep.purge(crawl.id, 1000):
        pass
    assert catalog.history(crawl.id) == [] and len(catalog.history(kept.id)) == 2
