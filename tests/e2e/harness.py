"""Runs a crawl as the product does: in this process for speed, or with real worker processes for kills."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import uvloop

from nephila import wiring
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.control.verify import verify
from nephila.errors import StoreDamaged, StoreUnavailable
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.frontier.store import Crawl, Frontier, WorkerInfo
from nephila.frontier.tables import Patience
from nephila.models import Kind, UrlState
from nephila.profiles import CrawlSettings, crawl_settings
from nephila.settings import ProcessSettings, process_settings
from nephila.worker.metering import Metering
from tests import postgres
from tests.patience import PATIENCE_MS, PATIENCE_SECONDS, POLL_SECONDS
from tests.site.graphs import GeneratedGraph
from tests.site.server import Hit

STORES = ("sqlite", "postgres")
# On PostgreSQL; the embedded store has no leases. Long: a worker that waits for a busy machine must not lose it.
LEASE_SECONDS = 60.0
SHORT_LEASE_SECONDS = 2.0  # where one has to end

QUICK: dict[str, Any] = {
    "sitemaps.mode": "off",  # tests count requests; those of sitemaps say otherwise
    "fetch.allow_private": True,
    "polite.floor_ms": 0,
    "polite.adaptive": False,
    "polite.max_inflight": 4,
    "retry.base_ms": 10,
    "robots.retry_ms": 10,
    "robots.timeout_ms": PATIENCE_MS,
    "fetch.total_timeout_ms": PATIENCE_MS,
    "fetch.first_byte_timeout_ms": PATIENCE_MS,
}


@dataclass
class Place:
    """A data folder, its store (embedded, or the database at `url`), and how its processes are set up."""

    folder: Path
    workers: int = 1
    resolve: Mapping[str, str] | None = None
    more: Mapping[str, Any] | None = None
    url: str | None = None
    lease: float = LEASE_SECONDS

    def settings(self) -> ProcessSettings:
        given = {
            "data": self.folder,
            "workers": self.workers,
            "log_level": "error",
            "resolve": dict(self.resolve or {}),
            "store": self.url,
            "lease_seconds": self.lease if self.url else None,
            "allow_private": True if self.url else None,
        }
        return process_settings(given | dict(self.more or {}))

    @cached_property
    def _store(self) -> wiring.Store:
        return self.open_store(create=True)

    def open_store(self, *, create: bool = False) -> wiring.Store:
        """The store on a connection of its own. A test waits for other writers longer than the product's 5 s."""
        return wiring.open_store(self.settings(), create=create, patience=Patience(PATIENCE_SECONDS))

    def store(self) -> wiring.Store:
        """The store, on one connection for the whole test."""
        return self._store

    def duty(self, store: wiring.Store) -> Duty:
        return Duty(store.upkeep, store.archive, shared=self.url is not None)

    def bury(self, pid: int) -> None:
        """Let all know at once that this worker is dead: without leases the system says so."""
        if self.url is not None:
            postgres.end_lease(self.url, pid)

    def close(self) -> None:
        if "_store" in self.__dict__:
            close(self._store.catalog)

    def start(self, seeds: list[str], overrides: Mapping[str, Any] | None = None, profile: str = "default") -> Crawl:
        return crawls.start(self.store().catalog, seeds, quick_settings(overrides, profile))[0]

    def states(self, crawl_id: int) -> dict[str, str]:
        return {row.url: str(row.state) for row in self.rows(crawl_id)}

    def rows(self, crawl_id: int) -> list[UrlRow]:
        catalog = self.store().catalog
        found: list[UrlRow] = []
        while page := catalog.urls(crawl_id, found[-1].id if found else 0, 1000, UrlFilter()):
            found += page
        return [row for row in found if row.kind is Kind.PAGE]


class Places:
    """Makes the places of one test, all on the same kind of store."""

    def __init__(self, kind: str, folder: Path, opened: ExitStack) -> None:
        self.kind = kind
        self.folder = folder
        self._opened = opened

    def __call__(
        self,
        workers: int = 1,
        *,
        name: str = "data",
        resolve: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
        lease: float = LEASE_SECONDS,
    ) -> Place:
        url = self._opened.enter_context(postgres.database()) if self.kind == "postgres" else None
        place = Place(self.folder / name, workers, resolve, more, url, lease)
        self._opened.callback(place.close)
        return place


def close(part: Any) -> None:
    """Close the database of a catalogue or of a frontier."""
    part.database.close()


def asked_urls(hits: Iterable[Hit], port: int) -> Counter[str]:
    return Counter(f"http://{hit.host}:{port}{hit.path}" for hit in hits if hit.path != "/robots.txt")


def repeated_requests(hits: Iterable[Hit]) -> int:
    return sum(times - 1 for times in asked_urls(hits, 0).values())


def assert_whole(place: Place, crawl_id: int, graph: GeneratedGraph) -> None:
    """Check that the crawl has the result that the generator computed, and that every row has its archive record."""
    assert graph.mismatches(place.states(crawl_id)) == []
    report = verify(place.store().catalog, place.store().archive, lambda what: None)
    assert report.problems == []
    assert report.ok


def quick_settings(overrides: Mapping[str, Any] | None = None, profile: str = "default") -> CrawlSettings:
    return crawl_settings(profile, QUICK | dict(overrides or {}))


def look_after(duty: Duty) -> None:
    """Upkeep as a `Crew` does it: where another writer has the store for too long it is done the next time."""
    try:
        duty.run_once()
    except StoreDamaged:
        raise
    except StoreUnavailable:
        pass


def await_end(
    catalog: Catalog, crawl_id: int, describe: Callable[[], str], step: Callable[[], object] = lambda: None
) -> Crawl:
    """Wait until the crawl is over, as long as it gets on: how fast that is, the machine decides."""
    before: dict[str, int] | None = None
    end = 0.0
    while not (crawl := catalog.crawl(crawl_id)).state.over:
        if time.monotonic() > end:
            tallies = catalog.tallies(crawl_id)
            assert tallies != before, f"nothing has happened for {PATIENCE_SECONDS} s: {describe()}"
            before, end = tallies, time.monotonic() + PATIENCE_SECONDS
        step()
        time.sleep(POLL_SECONDS)
    return crawl


def run_here(
    place: Place,
    crawl_id: int,
    *,
    wrap: Callable[[Frontier], Frontier] = lambda store: store,
    until: Callable[[], bool] = lambda: False,
    metering: Metering | None = None,
) -> Crawl:
    """Crawl with one worker inside this process until the crawl is over, or `until` says that it is enough."""
    return uvloop.run(_run_here(place, crawl_id, wrap, until, metering))


async def _run_here(
    place: Place,
    crawl_id: int,
    wrap: Callable[[Frontier], Frontier],
    until: Callable[[], bool],
    metering: Metering | None,
) -> Crawl:
    settings = place.settings()
    store = place.store()
    frontier = wiring.open_frontier(settings)
    info = WorkerInfo("test", 0, "test")
    worker = wiring.new_worker(wrap(frontier), settings, SystemClock(), info, metering=metering)
    duty = place.duty(store)
    task = asyncio.ensure_future(worker.run())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not ((crawl := store.catalog.crawl(crawl_id)).state.over or until()):
                if task.done():
                    task.result()
                look_after(duty)
                await asyncio.sleep(0.01)
    finally:
        if not task.done():
            worker.stop()
        await task
        duty.run_once()
        close(frontier)
    return crawl


class Cluster:
    """Real worker processes under a supervisor, polled by the test."""

    def __init__(self, place: Place) -> None:
        self.place = place
        settings = place.settings()
        self.store = place.store()
        self.duty = place.duty(self.store)
        self.supervisor = Supervisor(
            wiring.WORKER_COMMAND, wiring.worker_environment(settings), place.workers, self.store.catalog.mark_suspect
        )

    def __enter__(self) -> "Cluster":
        self.supervisor.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.supervisor.close()
        self.duty.run_once()

    def ready(self) -> None:
        """Wait until all workers have joined and have their share of the partitions."""

        def shares() -> list[int]:
            return [worker.partitions for worker in self.store.catalog.workers() if worker.alive]

        self.run_until(lambda: len(shares()) == self.place.workers and min(shares()) > 0)

    def poll(self) -> None:
        before = self.supervisor.pids
        self.supervisor.poll()
        for dead in set(before).difference(self.supervisor.pids):
            self.place.bury(dead)
        look_after(self.duty)

    def run_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not done():
            self.poll()
            assert time.monotonic() < end, f"not done after {PATIENCE_SECONDS} s: {self.describe()}"
            time.sleep(POLL_SECONDS)

    def run_crawl(self, crawl_id: int) -> Crawl:
        return await_end(self.store.catalog, crawl_id, self.describe, self.poll)

    def describe(self) -> str:
        catalog = self.store.catalog
        return json.dumps({crawl.id: [str(crawl.state), catalog.tallies(crawl.id)] for crawl in catalog.crawls()})


def visited(states: Mapping[str, str]) -> int:
    return sum(state == UrlState.VISITED for state in states.values())
