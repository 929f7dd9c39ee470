from collections import deque
from dataclasses import replace
from typing import Any

import pytest

from nephila.clock import VirtualClock
from nephila.control.progress import (
    WINDOW_MS,
    Bound,
    Progress,
    Resting,
    Sample,
    drop_old,
    ended_of,
    errors_of,
    first_allowed,
    outlook,
    rate_of,
    sampled,
)
from nephila.frontier.records import QueueRow
from nephila.frontier.sqlite import SqliteDatabase, SqliteFrontier
from nephila.frontier.store import Batch, WorkerInfo
from nephila.models import CrawlState, Tally
from nephila.profiles import crawl_settings
from tests.unit.control.filled import Filled


def queue(host: str, open: int, delay_ms: int = 0, due_in_ms: int | None = 0) -> QueueRow:
    return QueueRow(host, open, due_in_ms, None, 0, delay_ms, "")


@pytest.mark.parametrize(
    ("samples", "rate"),
    [
        ([], None),
        ([Sample(0, 5)], None),
        ([Sample(0, 5), Sample(0, 9)], None),
        ([Sample(0, 5), Sample(1000, 5)], 0.0),
        ([Sample(0, 5), Sample(1000, 17)], 12.0),
        ([Sample(500, 0), Sample(1500, 50), Sample(2500, 60)], 30.0),
    ],
)
def test_rate_is_of_requests_between_first_and_last(samples: list[Sample], rate: float | None) -> None:
    assert rate_of(samples) == rate


def test_window_keeps_one_sample_at_its_beginning() -> None:
    samples = deque(Sample(tick, 0) for tick in (0.0, 1000.0, 5000.0, 15_000.0))
    drop_old(samples, 15_000.0)
    assert [sample.tick_ms for sample in samples] == [5000.0, 15_000.0]
    drop_old(samples, 15_000.0 + 10 * WINDOW_MS)
    assert len(samples) == 1


@pytest.mark.requirement("C-05")
@pytest.mark.parametrize(
    ("queues", "queued", "rate", "overrides", "eta", "bound"),
    [
        # the host with the largest queue x delay bounds the end
        ([queue("a", 100, 1000), queue("b", 30, 10_000)], 130, 5.0, {}, 300_000, Bound("b", 30, 10_000)),
        # a host that was not asked yet has the floor
        ([queue("a", 10)], 10, None, {}, 10_000, Bound("a", 10, 1000)),
        # many quick hosts: the rate decides, and no host bounds it
        ([queue("a", 10, 0), queue("b", 10, 0)], 20, 0.5, {"polite.floor_ms": 0}, 40_000, None),
        # the rate is a little slower than politeness alone: the host still explains it
        ([queue("a", 100, 1000)], 100, 0.9, {}, 111_111, Bound("a", 100, 1000)),
        # no more than max_pages are needed
        ([queue("a", 1000, 1000)], 1000, None, {"limits.max_pages": 10}, 10_000, Bound("a", 10, 1000)),
        # a resting host is not done before its rest is over
        ([queue("a", 1, 1000, 60_000)], 1, None, {}, 60_000, None),
        ([], 5, None, {}, None, None),
        ([], 0, None, {}, 0, None),
    ],
)
def test_outlook(
    queues: list[QueueRow],
    queued: int,
    rate: float | None,
    overrides: dict[str, Any],
    eta: float | None,
    bound: Bound | None,
) -> None:
    found, by = outlook(queues, {"queued": queued}, rate, crawl_settings("default", overrides))
    assert found == pytest.approx(eta, abs=1)
    assert by == bound


def test_first_allowed_only_where_all_rest() -> None:
    late, later = Resting("a", 60_000, "backoff"), Resting("b", 90_000, "")
    assert first_allowed([later, late]) == late
    assert first_allowed([late, Resting("c", 900, "")]) is None
    assert first_allowed([]) is None


def test_errors_are_states_that_say_it_and_reasons_of_the_others() -> None:
    counts = {"not_found": 3, "failed": 9, "reason:timeout": 7, "reason:robots": 5, "reason:host_dead": 2}
    assert errors_of(counts) == [("timeout", 7), ("not_found", 3), ("host_dead", 2)]
    assert errors_of({"http_error": 5, "reason:http_5xx": 3}) == [("http_5xx", 3), ("http_error", 2)], "status 304, say"


def test_snapshot_of_a_store(filled: Filled, clock: VirtualClock) -> None:
    progress = Progress(filled.catalog, filled.crawl.id, clock)
    first = progress.snapshot()
    assert (first.ended, first.known, first.rate, first.counts["queued"]) == (5, 6, None, 1)
    assert first.resting is not None
    assert first.resting._replace(in_ms=0) == Resting("a.test", 0, "backoff")
    clock.advance(1000)
    assert progress.snapshot("why").waiting == "why"
    assert progress.snapshot().rate == 0.0
    filled.catalog.steer(filled.crawl.id, CrawlState.ENDING, "limit_time")
    frontier = SqliteFrontier(SqliteDatabase(filled.folder))
    frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    frontier.flush(Batch(1, new_queues=10, window=10))
    after = progress.snapshot()
    assert (after.ended, after.rate) == (6, 0.0), "a row that ends without a request is no speed"
    shown = first.as_json(final=True)
    assert shown["final"] and shown["states"] == {"visited": 3, "redirected": 1, "not_found": 1}
    assert shown["errors"] == {"not_found": 1}


def test_the_rate_is_that_of_answers_and_none_while_paused(filled: Filled, clock: VirtualClock) -> None:
    """A host that refuses every connection is asked quickly, but that is no speed; nor is what was before a pause."""
    progress, crawl = Progress(filled.catalog, filled.crawl.id, clock), filled.crawl.id
    frontier = SqliteFrontier(SqliteDatabase(filled.folder))
    frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    progress.snapshot()

    def after(seq: int, requests: int, answered: int) -> float | None:
        frontier.flush(Batch(seq, tallies={(crawl, Tally.REQUESTS): requests, (crawl, Tally.ANSWERED): answered}))
        clock.advance(1000)
        return progress.snapshot().rate

    assert after(1, 174, 5) == 5.0
    filled.catalog.steer(crawl, CrawlState.PAUSED, "")
    assert after(2, 0, 0) is None and after(3, 0, 0) is None
    filled.catalog.steer(crawl, CrawlState.RUNNING, "")
    assert after(4, 3, 3) == 3.0, "since it goes on"


def test_a_costly_look_at_the_queues_is_repeated_later(filled: Filled, clock: VirtualClock) -> None:
    looks = []

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(filled.catalog, name)

        def queues(self, crawl_id: int, limit: int) -> list[QueueRow]:
            looks.append(clock.tick_ms())
            clock.advance(500)
            return []

    progress = Progress(Slow(), filled.crawl.id, clock)  # type: ignore[arg-type]
    for _ in range(30):
        progress.snapshot()
        clock.advance(500)
    assert looks == [0.0, 10_000.0]


def test_one_sample_where_no_worker_lives(filled: Filled, clock: VirtualClock) -> None:
    waits: list[None] = []
    found = sampled(filled.catalog, filled.crawl.id, clock, lambda: waits.append(None))
    assert found.rate is None and not waits


def test_ended_counts_terminal_states_only(filled: Filled) -> None:
    counts = filled.catalog.tallies(filled.crawl.id)
    assert ended_of(counts) == 5
    assert ended_of(replace_counts(counts, "in_progress", 3)) == 5


def replace_counts(counts: dict[str, int], name: str, value: int) -> dict[str, int]:
    return counts | {name: value}


def test_known_pages_stop_at_the_limit(filled: Filled, clock: VirtualClock) -> None:
    snapshot = Progress(filled.catalog, filled.crawl.id, clock).snapshot()
    settings = crawl_settings("default", {"limits.max_pages": 3})
    assert replace(snapshot, crawl=replace(filled.crawl, settings=settings)).known == 5
