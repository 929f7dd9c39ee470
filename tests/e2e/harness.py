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
from nephila.frontier.store import Crawl, Frontier, UrlFilter, UrlRow, WorkerInfo
from nephila.models import Kind, UrlState
from nephila.profiles import CrawlSettings, crawl_settings
from nephila.settings import ProcessSettings, process_settings
from nephila.worker.worker import Worker
from tests import postgres
from tests.site.graphs import GeneratedGraph
from tests.site.server import Hit

STORES = ("sqlite", "postgres")
LEASE_SECONDS = 2.0  # on PostgreSQL; the embedded store has no leases

QUICK: dict[str, Any] = {
    "fetch.allow_private": True,
    "polite.floor_ms": 0,
    "polite.adaptive": False,
    "polite.max_inflight": 4,
    "retry.base_ms": 10,
    "robots.retry_ms": 10,
    "fetch.total_timeout_ms": 5000,
}


@dataclass
class Place:
    """A data folder, its store (embedded, or the database at `url`), and how its processes are set up."""

    folder: Path
    workers: int = 1
    resolve: Mapping[str, str] | None = None
    more: Mapping[str, Any] | None = None
    url: str | None = None

    def settings(self) -> ProcessSettings:
        given = {
            "data": self.folder,
            "workers": self.workers,
            "log_level": "error",
            "resolve": dict(self.resolve or {}),
            "store": self.url,
            "lease_seconds": LEASE_SECONDS if self.url else None,
            "allow_private": True if self.url else None,
        }
        return process_settings(given | dict(self.more or {}))

    @cached_property
    def _store(self) -> wiring.Store:
        return wiring.open_store(self.settings(), create=True)

    def store(self) -> wiring.Store:
        """One connection for the whole test."""
        return self._store

    def duty(self, store: wiring.Store) -> Duty:
        return Duty(store.upkeep, self.settings().archive_folder, shared=self.url is not None)

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
    ) -> Place:
        url = self._opened.enter_context(postgres.database()) if self.kind == "postgres" else None
        place = Place(self.folder / name, workers, resolve, more, url)
        self._opened.callback(place.close)
        return place


def close(part: Any) -> None:
    """A catalogue or a frontier: each has its database."""
    part.database.close()


def asked_urls(hits: Iterable[Hit], port: int) -> Counter[str]:
    return Counter(f"http://{hit.host}:{port}{hit.path}" for hit in hits if hit.path != "/robots.txt")


def repeated_requests(hits: Iterable[Hit]) -> int:
    return sum(times - 1 for times in asked_urls(hits, 0).values())


def assert_whole(place: Place, crawl_id: int, graph: GeneratedGraph) -> None:
    """What the generator computed, and every row has its record in the archive."""
    assert graph.mismatches(place.states(crawl_id)) == []
    report = verify(place.store().catalog, place.settings().archive_folder, lambda what, n: None)
    assert report.problems == []
    assert report.ok


def quick_settings(overrides: Mapping[str, Any] | None = None, profile: str = "default") -> CrawlSettings:
    return crawl_settings(profile, QUICK | dict(overrides or {}))


def run_here(
    place: Place,
    crawl_id: int,
    *,
    seconds: float = 60,
    wrap: Callable[[Frontier], Frontier] = lambda store: store,
    until: Callable[[], bool] = lambda: False,
) -> Crawl:
    """Crawl with one worker inside this process until the crawl is over, or `until` says that it is enough."""
    return uvloop.run(_run_here(place, crawl_id, seconds, wrap, until))


async def _run_here(
    place: Place, crawl_id: int, seconds: float, wrap: Callable[[Frontier], Frontier], until: Callable[[], bool]
) -> Crawl:
    settings = place.settings()
    store = place.store()
    frontier = wiring.open_frontier(settings)
    worker = Worker(wrap(frontier), settings, SystemClock(), WorkerInfo("test", 0, "test"))
    duty = place.duty(store)
    task = asyncio.ensure_future(worker.run())
    try:
        async with asyncio.timeout(seconds):
            while not ((crawl := store.catalog.crawl(crawl_id)).state.over or until()):
                if task.done():
                    task.result()
                duty.run_once()
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
            wiring.WORKER_COMMAND, wiring.worker_environment(settings), place.workers, self.store.catalog.suspect
        )

    def __enter__(self) -> "Cluster":
        self.supervisor.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.supervisor.close()
        self.duty.run_once()

    def ready(self) -> None:
        """All workers have joined and have their share."""

        def shares() -> list[int]:
            return [worker.partitions for worker in self.store.catalog.workers() if worker.alive]

        self.run_until(lambda: len(shares()) == self.place.workers and min(shares()) > 0)

    def poll(self) -> None:
        self.supervisor.poll()
        self.duty.run_once()

    def run_until(self, done: Callable[[], bool], seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not done():
            self.poll()
            assert time.monotonic() < end, f"not done after {seconds} s: {self.describe()}"
            time.sleep(0.02)

    def run_crawl(self, crawl_id: int, seconds: float = 90) -> Crawl:
        self.run_until(lambda: self.store.catalog.crawl(crawl_id).state.over, seconds)
        return self.store.catalog.crawl(crawl_id)

    def describe(self) -> str:
        catalog = self.store.catalog
        return json.dumps({crawl.id: [str(crawl.state), catalog.tallies(crawl.id)] for crawl in catalog.crawls()})


def visited(states: Mapping[str, str]) -> int:
    return sum(state == UrlState.VISITED for state in states.values())
