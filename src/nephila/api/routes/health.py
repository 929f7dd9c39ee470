"""Is it alive, can it work, and what does it measure."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials
from prometheus_client import CollectorRegistry
from starlette.requests import HTTPConnection

from nephila import __version__, metrics
from nephila.api.access import requires, scheme
from nephila.api.problems import Problem, declared
from nephila.api.services import Services, Shared, Store, StorePool, services_of
from nephila.clock import Clock
from nephila.control.indexing import pending_bytes
from nephila.errors import StoreUnavailable
from nephila.frontier.operators import Access
from nephila.frontier.store import Catalog, Crawl, WorkerRow
from nephila.metrics import Meter
from nephila.models import CrawlState, UrlState

LOOK_MS = 1000.0  # between two looks at the store, whoever asks and however often
LOOK_SHARE = 20  # a store that is slow to read is read less often
CRAWLS_SHOWN_MAX = 20  # unfinished crawls with series of their own, the newest; the others are one sum
CRAWLS_READ_MAX = 500  # unfinished crawls that are counted at all

COUNTED = {
    metrics.URLS: "urls",
    metrics.QUEUED: "queued",
    metrics.IN_PROGRESS: "in_progress",
    metrics.FAILED_NOW: UrlState.FAILED,
}


@contextmanager
def released(lock: threading.Lock) -> Iterator[None]:
    """A lock that is held already, until the end of the block."""
    try:
        yield
    finally:
        lock.release()


class Readiness:
    """Whether the store answers, asked at most once in LOOK_MS. Any thread may ask."""

    def __init__(self, pool: StorePool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._lock = threading.Lock()
        self._look_tick = float("-inf")
        self._trouble = "the store was not asked yet"

    def trouble(self) -> str:
        """Why it does not; empty where it does. While one thread asks, the others go by what was known before."""
        if self._clock.tick_ms() >= self._look_tick and self._lock.acquire(blocking=False):
            with released(self._lock):
                self._trouble = self._look()
                self._look_tick = self._clock.tick_ms() + LOOK_MS
        return self._trouble

    def _look(self) -> str:
        try:
            with self._pool.use() as store:
                store.rulebook.has_tokens()
        except StoreUnavailable as error:
            return str(error)
        return ""


class Gauges:
    """The gauges that the store tells, read when somebody scrapes. Any thread may ask."""

    def __init__(self, pool: StorePool, clock: Clock, meter: Meter, started_at: int) -> None:
        self.registry: CollectorRegistry = metrics.registry_of(meter)
        self._pool = pool
        self._clock = clock
        self._meter = meter
        self._started_at = started_at
        self._lock = threading.Lock()
        self._look_tick = float("-inf")

    def refresh(self) -> None:
        """While one thread reads, the others tell what was known before."""
        began = self._clock.tick_ms()
        if began >= self._look_tick and self._lock.acquire(blocking=False):
            with released(self._lock):
                self._meter.set(metrics.STORE_UP, self._look())
                ended = self._clock.tick_ms()
                self._look_tick = ended + max(LOOK_MS, LOOK_SHARE * (ended - began))

    def _look(self) -> bool:
        try:
            with self._pool.use() as store:
                self._take_crawls(store.catalog, store.catalog.crawls())
                self._take_workers([worker for worker in store.catalog.workers() if worker.alive])
                self._take_sizes(store.catalog)
                self._take_index(store)
        except StoreUnavailable:
            return False
        return True

    def _take_index(self, store: Store) -> None:
        with suppress(StoreUnavailable):  # on the embedded store it is a file of its own: the store itself is well
            self._meter.set(metrics.INDEXED, store.index.count())
            self._meter.set(metrics.INDEX_PENDING, pending_bytes(store.catalog, store.index))

    def _take_crawls(self, catalog: Catalog, crawls: list[Crawl]) -> None:
        meter, since = self._meter, self._started_at
        started = sum(crawl.created_at >= since for crawl in crawls)
        completed = sum(crawl.state is CrawlState.COMPLETED and (crawl.ended_at or 0) >= since for crawl in crawls)
        # A crawl that was deleted did start: a counter only grows.
        for metric, count in ((metrics.RUNS_STARTED, started), (metrics.RUNS_COMPLETED, completed)):
            meter.set(metric, max(count, meter.value(metric)))
        meter.replace(metrics.RUNS, {state: sum(crawl.state is state for crawl in crawls) for state in CrawlState})
        newest = [crawl.id for crawl in reversed(crawls) if not crawl.state.over][:CRAWLS_READ_MAX]
        tallies = {crawl_id: catalog.tallies(crawl_id) for crawl_id in newest}
        for metric, name in COUNTED.items():
            meter.replace(metric, summed({crawl_id: counts.get(name, 0) for crawl_id, counts in tallies.items()}))

    def _take_workers(self, workers: list[WorkerRow]) -> None:
        meter = self._meter
        meter.set(metrics.WORKERS_ALIVE, len(workers))
        meter.replace(metrics.WORKER_CPU, {str(worker.id): worker.vitals.cpu for worker in workers})
        meter.replace(metrics.WORKER_MEMORY, {str(worker.id): worker.vitals.rss_bytes for worker in workers})
        meter.replace(metrics.WORKER_RATE, {str(worker.id): worker.vitals.pages_per_s for worker in workers})

    def _take_sizes(self, catalog: Catalog) -> None:
        sizes = catalog.sizes()
        self._meter.set(metrics.STORE_BYTES, sizes.store_bytes)
        self._meter.set(metrics.ARCHIVE_BYTES, sizes.archive_bytes)


def summed(counts: dict[int, int]) -> dict[str, float]:
    """By crawl for the first CRAWLS_SHOWN_MAX; of the others the sum. Never empty: no crawl means nothing waits."""
    pairs = list(counts.items())
    shown = {str(crawl_id): float(count) for crawl_id, count in pairs[:CRAWLS_SHOWN_MAX]}
    return shown | {metrics.OTHER: float(sum(count for _, count in pairs[CRAWLS_SHOWN_MAX:]))}


_making = threading.Lock()


def gauges_of(request: Request, services: Shared) -> Gauges:
    """One for the life of the application."""
    state = request.app.state
    with _making:
        if not hasattr(state, "gauges"):
            state.gauges = Gauges(services.pool, services.clock, services.hub.meter, services.started_at)
    found: Gauges = state.gauges
    return found


def readiness_of(request: Request, services: Shared) -> Readiness:
    state = request.app.state
    with _making:
        if not hasattr(state, "readiness"):
            state.readiness = Readiness(services.pool, services.clock)
    found: Readiness = state.readiness
    return found


def may_scrape(
    connection: HTTPConnection, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(scheme)]
) -> None:
    if not services_of(connection).settings.metrics_public:
        requires(Access.READ)(connection, credentials)


router = APIRouter(tags=["health"])


@router.get("/health", summary="Alive: the process answers")
async def health(services: Shared) -> dict[str, Any]:
    return {"status": "ok", "version": __version__, "uptime_seconds": uptime(services)}


@router.get("/livez", summary="Alive, for an orchestrator: restart it where this fails")
async def livez() -> dict[str, str]:
    return {"status": "ok"}


@router.get(
    "/readyz",
    summary="Ready, for an orchestrator: 503 while the store is away or the server stops",
    responses=declared(),
)
def readyz(services: Shared, readiness: Annotated[Readiness, Depends(readiness_of)]) -> dict[str, str]:
    if services.hub.stopping:
        raise Problem(503, "the server stops")
    if trouble := readiness.trouble():
        raise Problem(503, trouble)
    return {"status": "ok"}


@router.get(
    "/metrics",
    summary="Metrics of the control plane for Prometheus; docs/observability.md lists them",
    dependencies=[Depends(may_scrape)],
    openapi_extra={"x-access": Access.READ.value},
    response_class=Response,
    responses=declared(401, 403) | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def scrape(request: Request, gauges: Annotated[Gauges, Depends(gauges_of)]) -> Response:
    gauges.refresh()
    page, content_type = metrics.render(gauges.registry, request.headers.get("accept", ""))
    return Response(page, headers={"Content-Type": content_type, "Cache-Control": "no-store"})


def uptime(services: Services) -> float:
    return max(services.clock.now_ms() - services.started_at, 0) / 1000
