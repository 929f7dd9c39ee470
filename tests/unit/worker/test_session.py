"""Sessions of a worker, with a store that the test answers for."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephila.archive.folder import FolderArchive
from nephila.clock import SystemClock
from nephila.errors import DiskFull, Fenced, StoreDamaged, StoreUnavailable
from nephila.extract.reader import PageReading
from nephila.fetch.resolver import Resolver
from nephila.frontier.operators import Rulings
from nephila.frontier.store import Batch, Crawl, Flushed, HostRecord, Vitals, Window, WorkerInfo
from nephila.metrics import Meter, Place
from nephila.models import CrawlState, Reason
from nephila.policy.balance import Lease
from nephila.policy.politeness import Pace
from nephila.settings import process_settings
from nephila.urls.identity import partition_of
from nephila.worker.metering import Metering
from nephila.worker.parts import WorkerParts
from nephila.worker.worker import Worker
from tests.patience import PATIENCE_SECONDS
from tests.unit.worker.test_dispatcher import Reading, Web
from tests.unit.worker.test_scheduler import live_crawl, rows
from tests.unit.worker.test_visit import answered


class Store:
    """A Frontier: `react` is asked before each answer to a flush, and may raise."""

    def __init__(self, react: Callable[[Batch], Flushed | None], valid_ms: float | None = None) -> None:
        self.react = react
        self.valid_ms = valid_ms
        self.away = False  # also for leases
        self.leases = 0
        self.calls: list[str] = []
        self.batches: list[Batch] = []
        self.control = 1
        self.crawl = live_crawl(1, robots__mode="ignore").crawl

    def join(self, info: WorkerInfo) -> int:
        self.calls.append("join")
        return self.calls.count("join")

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        self.leases += 1
        if self.away:
            raise StoreUnavailable("away")
        return Lease({partition_of("h"): None}, valid_ms=self.valid_ms)

    def flush(self, batch: Batch) -> Flushed:
        self.batches.append(batch)
        answer = self.react(batch) or Flushed()
        answer.control, answer.valid_ms = self.control, self.valid_ms
        return answer

    def leave(self) -> None:
        self.calls.append("leave")

    def controls(self) -> list[Crawl]:
        return [self.crawl]

    def rulings(self) -> Rulings:
        return Rulings()


def loaded() -> Flushed:
    record = HostRecord(0, Pace(), "", 0, [])
    return Flushed(windows=[Window(7, 1, "h", rows(1))], hosts={"h": record})


class Fixed(Resolver):
    async def close(self) -> None: ...


class Life:
    """A worker that runs until the test is over."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.web, self.events = Web(), list[dict[str, Any]]()
        clock, info = SystemClock(), WorkerInfo("here", 1, "0")
        settings, metering = process_settings({"flush_ms": 10}), Metering(Meter(Place.WORKER), clock)
        adapters = (store, FolderArchive(folder, clock), Fixed(clock), self.web, Reading(PageReading()))
        self.worker = Worker(WorkerParts(*adapters, settings, clock, info, metering, self.events.append))
        self.run = asyncio.ensure_future(self.worker.run())

    async def over(self) -> None:
        self.worker.stop()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.run


class Seen:
    """Waits, in the loop, for what happens in the flush thread."""

    def __init__(self) -> None:
        self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()

    def set(self) -> None:
        self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._event.wait()


async def test_a_session_from_join_to_leave(tmp_path: Path) -> None:
    ended = Seen()

    def react(batch: Batch) -> Flushed | None:
        if batch.outcomes:
            ended.set()
        return loaded() if batch.seq == 2 else None  # by then the crawl is known

    store = Store(react)
    life = Life(tmp_path, store)
    await asyncio.wait_for(life.web.asked_first.wait(), PATIENCE_SECONDS)
    await life.web.answer(rows(1)[0].url, answered(404))
    await ended.wait()
    await life.over()
    outcomes = [outcome for batch in store.batches for outcome in batch.outcomes]
    assert [outcome.state for outcome in outcomes] == ["not_found"] and store.calls == ["join", "leave"]
    assert [batch.seq for batch in store.batches] == list(range(1, len(store.batches) + 1))


async def test_a_damaged_store_ends_the_worker(tmp_path: Path) -> None:
    """To ask again does not help, and nothing may be sent that cannot be stored."""

    def react(batch: Batch) -> Flushed | None:
        raise StoreDamaged("nephila.db is damaged")

    life = Life(tmp_path, Store(react))
    with pytest.raises(StoreDamaged):
        await asyncio.wait_for(life.run, PATIENCE_SECONDS)
    assert life.events == []


async def test_a_batch_is_sent_again_until_the_store_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MIN", 1.0)
    going_on = Seen()

    def react(batch: Batch) -> Flushed | None:
        if len(store.batches) < 4:
            raise StoreUnavailable("away")
        going_on.set()
        return None

    store = Store(react)
    life = Life(tmp_path, store)
    await going_on.wait()
    await life.over()
    assert [batch.seq for batch in store.batches[:4]] == [1, 1, 1, 1]
    assert [event["event"] for event in life.events] == ["stalled", "going_on"]


async def test_a_fenced_session_drops_everything_and_another_joins(tmp_path: Path) -> None:
    again = Seen()

    def react(batch: Batch) -> Flushed | None:
        if store.calls.count("join") == 2:
            again.set()
            return None
        if batch.seq == 2:
            return loaded()
        if batch.seq > 2 and life.web.open:
            raise Fenced("taken over")
        return None

    store = Store(react)
    life = Life(tmp_path, store)
    await again.wait()
    first = life.worker.session
    await life.over()
    assert store.calls == ["join", "join", "leave"]
    assert not any(batch.outcomes for batch in store.batches), "what was in flight was cut off, and is another's"
    assert first is not None and first.held.scheduler.queues == {}


async def test_requests_are_cut_off_when_the_lease_cannot_be_proven(tmp_path: Path) -> None:
    def react(batch: Batch) -> Flushed | None:
        if life.web.open:
            store.away = True
            raise StoreUnavailable("away")
        return loaded() if batch.seq == 2 else None

    store = Store(react, valid_ms=300.0)
    life = Life(tmp_path, store)
    await asyncio.wait_for(life.web.aborted.wait(), PATIENCE_SECONDS)
    assert life.worker.session is not None and life.worker.session.held.scheduler.queues[7].more
    await life.over()


async def test_a_store_that_is_full_keeps_its_sessions_and_their_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flushes are refused for many leases, small writes are not: the same batch is sent in the end."""
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MIN", 1.0)
    refused, taken = Seen(), Seen()
    full = True

    def react(batch: Batch) -> Flushed | None:
        if not batch.outcomes:
            return loaded() if batch.seq == 2 else None
        if full:
            if store.leases > 20:
                refused.set()
            raise DiskFull("no space left")
        taken.set()
        return None

    store = Store(react, valid_ms=200.0)
    life = Life(tmp_path, store)
    life.web.at_once = answered(404)  # on a busy machine the lease may end before the test can answer
    await refused.wait()
    assert life.worker.session is not None and not life.worker.session.right.holds(0.0), "nothing is sent meanwhile"
    full = False
    await taken.wait()
    await life.over()
    assert store.calls == ["join", "leave"]
    assert len({batch.seq for batch in store.batches if batch.outcomes}) == 1
    assert [event["event"] for event in life.events] == ["stalled", "going_on"]


async def test_a_new_session_sends_nothing_before_the_store_has_taken_a_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that was lost while the store was full: joining anew is a small write and proves nothing."""
    monkeypatch.setattr("nephila.worker.right.RETRY_MS_MIN", 1.0)
    again = Seen()

    def react(batch: Batch) -> Flushed | None:
        joined = store.calls.count("join")
        if joined == 1 and len(store.batches) > 3:
            raise Fenced("taken over")
        if joined == 2 and len(store.batches) > 8:
            again.set()
        raise DiskFull("no space left")

    store = Store(react)
    life = Life(tmp_path, store)
    await again.wait()
    assert [event["event"] for event in life.events] == ["stalled"]
    assert life.worker.session is not None and not life.worker.session.right.holds(0.0)
    await life.over()


async def test_visits_of_a_crawl_that_ends_are_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a host or a page does: a limit on time ends the crawl within seconds."""
    monkeypatch.setattr("nephila.worker.session.CUT_OFF_MS", 1.0)
    released = Seen()

    def react(batch: Batch) -> Flushed | None:
        if batch.released:
            released.set()
        if life.web.open:
            store.control, store.crawl = 2, replace(store.crawl, state=CrawlState.ENDING, reason=Reason.LIMIT_TIME)
        return loaded() if batch.seq == 2 else None

    store = Store(react)
    life = Life(tmp_path, store)
    await released.wait()
    assert life.web.open, "the host has not answered"
    assert not any(batch.outcomes or batch.retries for batch in store.batches), "the row stays open: the store ends it"
    await life.over()
