"""Health, readiness and metrics of the control plane."""

from contextlib import suppress
from typing import Any

from fastapi import Depends, Request, Response
from prometheus_client import CollectorRegistry
from starlette.requests import HTTPConnection

from nephila import __version__, metrics, supervision
from nephila.api.access import Credentials, requires
from nephila.api.problems import Problem, declared
from nephila.api.recent import RecentAnswers
from nephila.api.routers import plain_router
from nephila.api.services import OpenStore, Services, Shared, StorePool, services_of
from nephila.clock import Clock
from nephila.control.derivation import derivations_of, progress_of
from nephila.control.derivers import SEARCH
from nephila.errors import StoreUnavailable
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import WorkerRow
from nephila.frontier.tokens import Access
from nephila.metrics import Meter
from nephila.models import CrawlState, UrlState

LOOK_MS = 1000.0  # between two looks at the store, however many ask
LOOK_SHARE = 20  # a look that takes long is followed by a rest of so many times as long
CRAWLS_SHOWN_MAX = 20  # unfinished crawls with series of their own, the newest; the others are one sum
CRAWLS_READ_MAX = 500  # unfinished crawls that are counted at all

COUNTED = {
    metrics.URLS: "urls",
    metrics.QUEUED: "queued",
    metrics.IN_PROGRESS: "in_progress",
    metrics.FAILED_NOW: UrlState.FAILED,
}


class Readiness:
    """Whether the store answers, asked at most once in LOOK_MS. Any thread may ask."""

    def __init__(self, pool: StorePool, clock: Clock) -> None:
        self._pool = pool
        self._looks: RecentAnswers[None, str] = RecentAnswers(clock, LOOK_MS)

    def trouble(self) -> str:
        """Why the store does not answer; empty where it does. While one thread asks, others hear the answer before."""
        return self._looks.get_at_once(None, self._look, "the store was not asked yet")

    def _look(self) -> str:
        try:
            with self._pool.use() as store:
                store.tokens.has_tokens()
        except StoreUnavailable as error:
            return str(error)
        return ""


class Gauges:
    """The gauges that are read from the store when somebody scrapes. Any thread may ask."""

    def __init__(self, pool: StorePool, clock: Clock, meter: Meter, started_at: int) -> None:
        self.registry: CollectorRegistry = metrics.registry_of(meter)
        self._pool = pool
        self._meter = meter
        self._started_at = started_at
        self._looks: RecentAnswers[None, None] = RecentAnswers(clock, LOOK_MS, rest_share=LOOK_SHARE)

    def refresh(self) -> None:
        """While one thread reads the store, the gauges of others are those of the look before."""
        self._looks.get_at_once(None, lambda: self._meter.set(metrics.STORE_UP, self._look()), None)

    def _look(self) -> bool:
        try:
            with self._pool.use() as store:
                self._take_crawls(store.catalog)
                self._take_workers([worker for worker in store.catalog.workers() if worker.alive])
                self._take_sizes(store.catalog)
                self._take_derivations(store)
        except StoreUnavailable:
            return False
        return True

    def _take_derivations(self, store: OpenStore) -> None:
        with suppress(StoreUnavailable):  # the embedded store has the index in a file of its own
            found = progress_of(store.catalog, store.ledger, derivations_of(store))
            meter = self._meter
            meter.replace(metrics.DERIVED_PAGES, {each.name: each.pages for each in found})
            meter.replace(metrics.DERIVATION_PENDING, {each.name: each.pending_bytes for each in found})
            meter.replace(metrics.DERIVATION_SKIPPED, {each.name: each.skipped for each in found})
            for search in (each for each in found if each.name == SEARCH):
                meter.set(metrics.INDEXED, search.pages)
                meter.set(metrics.INDEX_PENDING, search.pending_bytes)

    def _take_crawls(self, catalog: Catalog) -> None:
        meter, counted = self._meter, catalog.count_crawls(self._started_at)
        # The counts of a deleted crawl stay: a counter only grows.
        for metric, count in ((metrics.RUNS_STARTED, counted.started), (metrics.RUNS_COMPLETED, counted.completed)):
            meter.set(metric, max(count, meter.value(metric)))
        meter.replace(metrics.RUNS, {state: counted.by_state.get(state, 0) for state in CrawlState})
        newest = [crawl.id for crawl in reversed(catalog.open_crawls())][:CRAWLS_READ_MAX]
        tallies = {crawl_id: catalog.tallies(crawl_id) for crawl_id in newest}
        for metric, name in COUNTED.items():
            meter.replace(metric, summed({crawl_id: counts.get(name, 0) for crawl_id, counts in tallies.items()}))

    def _take_workers(self, workers: list[WorkerRow]) -> None:
        meter = self._meter
        meter.set(metrics.WORKERS_ALIVE, len(workers))
        meter.replace(metrics.WORKER_CPU, {str(worker.id): worker.vitals.cpu for worker in workers})
        meter.replace(metrics.WORKER_MEMORY, {str(worker.id): worker.vitals.rss_bytes for worker in workers})
        meter.replace(metrics.WORKER_RECEIVED, {str(worker.id): worker.vitals.received_per_s for worker in workers})
        meter.replace(metrics.WORKER_SENT, {str(worker.id): worker.vitals.sent_per_s for worker in workers})
        meter.replace(metrics.WORKER_RATE, {str(worker.id): worker.vitals.pages_per_s for worker in workers})

    def _take_sizes(self, catalog: Catalog) -> None:
        sizes = catalog.sizes()
        self._meter.set(metrics.STORE_BYTES, sizes.store_bytes)
        self._meter.set(metrics.ARCHIVE_BYTES, sizes.archive_bytes)
        self._meter.set(metrics.QUEUE_AGE, catalog.overdue_ms() / 1000)


def summed(counts: dict[int, int]) -> dict[str, float]:
    """The counts of the first CRAWLS_SHOWN_MAX crawls, and the sum of the others, which is 0 where there are none."""
    pairs = list(counts.items())
    shown = {str(crawl_id): float(count) for crawl_id, count in pairs[:CRAWLS_SHOWN_MAX]}
    return shown | {metrics.OTHER: float(sum(count for _, count in pairs[CRAWLS_SHOWN_MAX:]))}


def may_scrape(connection: HTTPConnection, credentials: Credentials) -> None:
    if not services_of(connection).settings.metrics_public:
        requires(Access.READ)(connection, credentials)


def answered(example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """A good answer, for OpenAPI: an orchestrator looks at its status, so its fields have no schema."""
    return {200: {"description": "all is well", "content": {"application/json": {"example": example}}}}


ALIVE = {"status": "ok"}
HEALTH = ALIVE | {"version": __version__, "uptime_seconds": 2561.4}
READY = ALIVE | {"troubles": {"follower 0": "a fault of ours: it starts again"}}
SCRAPED = """# HELP crawl_workers_alive Workers whose session lives
# TYPE crawl_workers_alive gauge
crawl_workers_alive 2.0
"""

router = plain_router("health")


@router.get("/health", responses=answered(HEALTH))
async def health(services: Shared) -> dict[str, Any]:
    """Tell that the process answers.

    It needs no token and asks no store.
    """
    return {"status": "ok", "version": __version__, "uptime_seconds": uptime(services)}


@router.get("/livez", responses=declared() | answered(ALIVE))
async def livez() -> dict[str, str]:
    """Tell an orchestrator whether to restart this process.

    503 where a part has ended for good: only a new process heals that. It needs no token.
    """
    if dead := supervision.dead_parts():
        raise Problem(503, f"ended for good: {', '.join(dead)}", hint="start the process anew")
    return {"status": "ok"}


@router.get(
    "/readyz",
    responses=declared(422) | answered(READY),
)
def readyz(services: Shared) -> dict[str, Any]:
    """Tell an orchestrator whether to send requests here.

    503 while the store is away, upkeep fails or the server stops. `troubles` are parts that broke and start again by
    themselves, by name: requests are answered meanwhile. It needs no token.
    """
    if services.hub.stopping:
        raise Problem(503, "the server stops")
    if trouble := services.readiness.trouble():
        raise Problem(503, trouble)
    if services.crew is not None and services.crew.trouble:
        raise Problem(503, services.crew.trouble)
    troubles = supervision.troubles() | dict(services.crew.troubles if services.crew is not None else {})
    return {"status": "ok"} | ({"troubles": troubles} if troubles else {})


@router.get(
    "/metrics",
    dependencies=[Depends(may_scrape)],
    openapi_extra={"x-access": Access.READ.value},
    response_class=Response,
    responses=declared(401, 403, 422)
    | {200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": SCRAPED}}}},
)
def scrape(request: Request, services: Shared) -> Response:
    """Show the metrics of the control plane, for Prometheus.

    docs/observability.md lists them. It needs no token where the setting `metrics_public` is on.
    """
    services.gauges.refresh()
    page, content_type = metrics.render(services.gauges.registry, request.headers.get("accept", ""))
    return Response(page, headers={"Content-Type": content_type, "Cache-Control": "no-store"})


def uptime(services: Services) -> float:
    return max(services.clock.now_ms() - services.started_at, 0) / 1000
