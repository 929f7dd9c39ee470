"""The APIs of document 004: crawl jobs (/api/crawl/jobs ...) and their administration (/api/admin/...).

A job is a crawl and its id is the crawl's uuid; the crawl's number is understood, too. Delays are in seconds here.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.concurrency import run_in_threadpool

from nephila.api.access import Admin, Writer, guarded
from nephila.api.faces import Format, create, exported, may_go_private, streamed
from nephila.api.lookup import live_crawl_named
from nephila.api.problems import asked_for
from nephila.api.query import CRAWL_PATTERN, CrawlRef, PlainText, known_query
from nephila.api.routes.search import Words
from nephila.api.schemas import REASON_CHARS_MAX, SEEDS_MAX, Seed
from nephila.api.services import Services, Shared, lent_catalog
from nephila.control import crawls, operators
from nephila.control import search as searching
from nephila.control.export import Record, iso_time, rows_of
from nephila.control.search import Result
from nephila.control.statistics import Overview, overview
from nephila.errors import StoreUnavailable
from nephila.frontier.operators import Access, BlockKind
from nephila.frontier.store import Catalog, Crawl, ErrorRow, UrlFilter, UrlRow, WorkerRow
from nephila.models import CrawlState, Reason, UrlState
from nephila.profiles import CrawlSettings, ScopeMode, crawl_settings
from nephila.search.index import HITS_MAX
from nephila.search.query import parse_query
from nephila.search.snippet import CUT, plain

PROFILE = "jobs"
DELAY_SECONDS_MAX = 86_400.0
ERRORS_SHOWN, ERRORS_SHOWN_MAX = 100, 1000
FOUND_DEFAULT = 10
SAMPLE_MS = 5000.0
MINUTE_MS, HOUR_MS = 60_000.0, 3_600_000.0
SAMPLES_MAX = 1 + int(HOUR_MS / SAMPLE_MS)
GIGABYTE = 1e9


class Camel(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True)


class Asked(Camel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True)


# --- jobs -----------------------------------------------------------------------------------------------------------


class JobStatus(StrEnum):
    PENDING = "pending"  # nothing was asked for yet, or it is paused
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"  # or cancelled


class NewJob(Asked):
    seed_urls: list[Seed] = Field(min_length=1, max_length=SEEDS_MAX, description="URLs or bare domains")
    max_depth: int = Field(3, ge=0, le=10**6, description="links away from a seed")
    max_pages: int = Field(10_000, ge=1, le=10**12, description="pages that are crawled, at most")
    domain_restriction: Literal["same-domain", "none"] = Field(
        "same-domain", description="stay within the domains of the seeds, or follow every link"
    )
    crawl_delay: float = Field(
        1, ge=0, le=DELAY_SECONDS_MAX, allow_inf_nan=False, description="seconds between two requests to one domain"
    )


class JobMade(Camel):
    job_id: str
    status: JobStatus
    created_at: str


class Job(Camel):
    job_id: str
    status: JobStatus
    state: str = Field(description="the same in the finer words of /api/v1")
    pages_crawled: int
    urls_in_queue: int
    errors: int
    started_at: str
    estimated_completion: str | None = Field(description="when it ended, where it is over")


class JobPage(Camel):
    url: str
    title: str | None
    content_hash: str | None = Field(description="SHA-256 of the decoded body, in hexadecimal")
    crawled_at: str | None


def settings_for(new: NewJob, *, allow_private: bool) -> CrawlSettings:
    return crawl_settings(
        PROFILE,
        {
            "scope.max_depth": new.max_depth,
            "scope.mode": ScopeMode.SAME_DOMAIN if new.domain_restriction == "same-domain" else ScopeMode.ANY,
            "limits.max_pages": new.max_pages,
            "polite.floor_ms": round(new.crawl_delay * 1000),
            "fetch.allow_private": allow_private,
        },
    )


def job_status(state: CrawlState, reason: str, *, begun: bool) -> JobStatus:
    match state:
        case CrawlState.COMPLETED:
            return JobStatus.COMPLETED
        case CrawlState.FAILED | CrawlState.CANCELLED:
            return JobStatus.FAILED
        case CrawlState.PAUSED:
            return JobStatus.PENDING
        case CrawlState.ENDING if reason == Reason.CANCELLED:
            return JobStatus.FAILED
    return JobStatus.RUNNING if begun else JobStatus.PENDING


def job_of(crawl: Crawl, snapshot: dict[str, Any], now_ms: int) -> Job:
    """`snapshot` is the live hub's: however many ask, the store is read once a second."""
    states: dict[str, int] = snapshot["states"]
    begun = bool(states or snapshot["requests"] or snapshot["in_progress"])
    return Job(
        job_id=crawl.uuid,
        status=job_status(crawl.state, crawl.reason, begun=begun),
        state=crawl.state,
        pages_crawled=states.get(UrlState.VISITED, 0),
        urls_in_queue=snapshot["queued"] + snapshot["in_progress"],
        errors=sum(snapshot["errors"].values()),
        started_at=iso_time(crawl.created_at),
        estimated_completion=_end_of(crawl, snapshot["eta_seconds"], now_ms),
    )


def _end_of(crawl: Crawl, eta_seconds: float | None, now_ms: int) -> str | None:
    if crawl.ended_at is not None:
        return iso_time(crawl.ended_at)
    if eta_seconds is None or crawl.state is CrawlState.PAUSED:
        return None
    return iso_time(now_ms + round(eta_seconds * 1000))


def page_fields(row: UrlRow) -> Record:
    return {
        "url": row.url,
        "title": row.title,
        "contentHash": row.content_hash,
        "crawledAt": None if row.fetched_at is None else iso_time(row.fetched_at),
    }


PAGE_COLUMNS = tuple(to_camel(name) for name in JobPage.model_fields)
jobs = APIRouter(prefix="/api/crawl/jobs", tags=["jobs (004)"])


@jobs.post("", status_code=201, **guarded(Access.WRITE, 413, 429))
def submit_job(new: NewJob, services: Shared, caller: Writer) -> JobMade:
    settings = settings_for(new, allow_private=may_go_private(services, caller))
    crawl = create(services, caller, new.seed_urls, settings, "seedUrls")
    return JobMade(job_id=crawl.uuid, status=JobStatus.PENDING, created_at=iso_time(crawl.created_at))


@jobs.get("/{job}", **guarded(Access.READ, 404))
async def show_job(job: CrawlRef, services: Shared) -> Job:
    crawl = await run_in_threadpool(_found, services, job)
    return job_of(crawl, await services.hub.snapshot(crawl.id), services.clock.now_ms())


def _found(services: Services, job: str) -> Crawl:
    with services.pool.use() as store:
        return crawls.find(store.catalog, job)


EXPORTING = guarded(Access.READ, 404)
EXPORTING["responses"] |= {200: exported(list[JobPage])}


@jobs.get("/{job}/export", response_class=StreamingResponse, **EXPORTING)
def export_job(job: CrawlRef, services: Shared, format: Format = "json") -> StreamingResponse:
    """The crawled pages, as a stream: memory does not grow with the job."""
    crawl = _found(services, job)
    rows = rows_of(lent_catalog(services.pool), crawl.id, UrlFilter(states=(UrlState.VISITED,)))
    return streamed(rows, page_fields, PAGE_COLUMNS, format, f"job-{crawl.uuid}")


# --- search ---------------------------------------------------------------------------------------------------------


class FoundPage(Camel):
    url: str
    title: str | None
    snippet: str = Field(description="...keyword in context...")
    crawled_at: str


class FoundPages(Camel):
    results: list[FoundPage]
    total: int


def found_page(found: Result) -> FoundPage:
    text = plain(found.snippet).replace(CUT, "...")
    return FoundPage(url=found.url, title=found.title or None, snippet=text, crawled_at=iso_time(found.fetched_at))


search = APIRouter(prefix="/api/crawl/search", tags=["jobs (004)"])


@search.get("", **guarded(Access.READ, 404))
def search_jobs(
    services: Shared,
    q: Words,
    job: Annotated[str | None, Query(alias="jobId", pattern=CRAWL_PATTERN, description="all jobs, if none")] = None,
    limit: Annotated[int, Query(ge=1, le=HITS_MAX)] = FOUND_DEFAULT,
) -> FoundPages:
    """Crawled pages that have all the words, the best first."""
    query = asked_for("q", parse_query, q)
    with services.pool.use() as store:
        found = searching.search(store.catalog, store.index, query, crawl=job, limit=limit)
    return FoundPages(results=[found_page(result) for result in found.results], total=found.total)


# --- throughput -----------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    tick_ms: float
    pages: int  # visited, of all crawls together
    errors: int  # number of the latest


class Throughput:
    """Pages and errors of the last hour, as far as this process has watched: one sample in SAMPLE_MS."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    def take(self, sample: Sample) -> None:
        if not self._samples or sample.tick_ms >= self._samples[-1].tick_ms + SAMPLE_MS:
            self._samples.append(sample)

    def since(self, now: Sample, window_ms: float) -> tuple[int, int]:
        """Pages and errors within the window that ends now. A deleted crawl takes its pages with it: never below 0."""
        first = next((sample for sample in self._samples if sample.tick_ms >= now.tick_ms - window_ms), now)
        return max(0, now.pages - first.pages), max(0, now.errors - first.errors)


def error_rate(pages: int, errors: int) -> float:
    return round(errors / (pages + errors), 4) if errors else 0.0


def sample_of(catalog: Catalog, tick_ms: float) -> Sample:
    latest = catalog.errors(1)
    return Sample(tick_ms, catalog.sizes().pages, latest[0].id if latest else 0)


@asynccontextmanager
async def watching(app: FastAPI) -> AsyncIterator[None]:
    """Samples while the app lives, so that the first who asks already gets an answer."""
    app.state.throughput = Throughput()
    task = asyncio.create_task(_sample_on(app))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _sample_on(app: FastAPI) -> None:
    while True:  # until the app ends
        services: Services = app.state.services
        with suppress(StoreUnavailable):
            app.state.throughput.take(await run_in_threadpool(_sampled, services))
        await asyncio.sleep(SAMPLE_MS / 1000)


def _sampled(services: Services) -> Sample:
    with services.pool.use() as store:
        return sample_of(store.catalog, services.clock.tick_ms())


def throughput_of(request: Request) -> Throughput:
    state = request.app.state
    if not hasattr(state, "throughput"):  # an app that was not started, as in some tests
        state.throughput = Throughput()
    found: Throughput = state.throughput
    return found


# --- administration -------------------------------------------------------------------------------------------------


class WorkerCounts(Camel):
    active: int
    total: int


class QueueCounts(Camel):
    pending_urls: int
    visited_urls: int


class ThroughputCounts(Camel):
    pages_per_second: float
    last1min: int = Field(alias="last1min", description="pages")
    last5min: int = Field(alias="last5min", description="pages")


class ErrorCounts(Camel):
    last1hour: int = Field(alias="last1hour")
    error_rate: float = Field(description="errors per visit of the last hour, 0.02 being 2 %")


class StorageCounts(Camel):
    total_pages: int
    total_size_gb: float = Field(alias="totalSizeGB", description="store and archive, in 10^9 bytes")


class Stats(Camel):
    workers: WorkerCounts
    queue: QueueCounts
    throughput: ThroughputCounts
    errors: ErrorCounts
    storage: StorageCounts


class Worker(Camel):
    worker_id: str
    status: Literal["active", "gone"]
    current_url: str | None
    pages_crawled: int
    uptime_seconds: int
    last_heartbeat: str
    cpu: float = Field(description="cores in use")
    memory_bytes: int


class Blacklisting(Asked):
    domain: PlainText = Field(min_length=1, max_length=operators.HOST_CHARS_MAX, description="with all below it")
    reason: PlainText = Field("", max_length=REASON_CHARS_MAX, description="spam, illegal content, ...")


class Blacklisted(Camel):
    id: int
    domain: str
    reason: str
    created_at: str


class RateLimit(Asked):
    default_crawl_delay: float = Field(
        ge=0,
        le=DELAY_SECONDS_MAX,
        allow_inf_nan=False,
        description="seconds between two requests to one domain, at least, in all jobs",
    )


class ErrorLine(Camel):
    timestamp: str
    worker_id: str
    url: str
    error: str
    retries: int


def stats_of(seen: Overview, throughput: Throughput, now: Sample) -> Stats:
    sizes = seen.sizes
    return Stats(
        workers=WorkerCounts(active=seen.workers_alive, total=seen.workers_known),
        queue=QueueCounts(pending_urls=seen.queued + seen.in_progress, visited_urls=sizes.pages),
        throughput=ThroughputCounts(
            pages_per_second=seen.pages_per_s,
            last1min=throughput.since(now, MINUTE_MS)[0],
            last5min=throughput.since(now, 5 * MINUTE_MS)[0],
        ),
        errors=ErrorCounts(last1hour=seen.errors_last_hour, error_rate=error_rate(*throughput.since(now, HOUR_MS))),
        storage=StorageCounts(
            total_pages=sizes.pages,
            total_size_gb=round((sizes.store_bytes + sizes.archive_bytes) / GIGABYTE, 3),
        ),
    )


def worker_name(number: int) -> str:
    return f"worker{number}"


def worker_of(row: WorkerRow, now_ms: int) -> Worker:
    return Worker(
        worker_id=worker_name(row.id),
        status="active" if row.alive else "gone",
        current_url=row.current[0] if row.current else None,
        pages_crawled=row.vitals.pages,
        uptime_seconds=max(0, (now_ms if row.alive else row.seen_at) - row.started_at) // 1000,
        last_heartbeat=iso_time(row.seen_at),
        cpu=row.vitals.cpu,
        memory_bytes=row.vitals.rss_bytes,
    )


def error_line(row: ErrorRow) -> ErrorLine:
    return ErrorLine(
        timestamp=iso_time(row.at),
        worker_id=worker_name(row.worker),
        url=row.url,
        error=row.detail or row.reason,
        retries=row.tries,
    )


admin = APIRouter(prefix="/api/admin", tags=["administration (004)"])


@admin.get("/stats", **guarded(Access.READ))
def show_stats(services: Shared, request: Request) -> Stats:
    throughput = throughput_of(request)
    with services.pool.use() as store:
        seen = overview(store.catalog, services.clock.now_ms())
        now = sample_of(store.catalog, services.clock.tick_ms())
    throughput.take(now)
    return stats_of(seen, throughput, now)


@admin.get("/workers", **guarded(Access.READ))
def list_job_workers(services: Shared) -> list[Worker]:
    with services.pool.use() as store:
        return [worker_of(row, services.clock.now_ms()) for row in store.catalog.workers()]


@admin.post("/jobs/{job}/pause", **guarded(Access.ADMIN, 404, 409))
async def pause_job(job: CrawlRef, services: Shared) -> Job:
    """Answers when no request of it starts any more."""
    return await _steered(services, job, crawls.pause)


@admin.post("/jobs/{job}/resume", **guarded(Access.ADMIN, 404, 409))
async def resume_job(job: CrawlRef, services: Shared) -> Job:
    return await _steered(services, job, crawls.go_on)


@admin.post("/jobs/{job}/cancel", **guarded(Access.ADMIN, 404, 409))
async def cancel_job(job: CrawlRef, services: Shared) -> Job:
    return await _steered(services, job, crawls.cancel)


async def _steered(services: Services, job: str, steer: Callable[[Catalog, int], object]) -> Job:
    crawl = await run_in_threadpool(_steer, services, job, steer)
    return job_of(crawl, await services.hub.snapshot(crawl.id), services.clock.now_ms())


def _steer(services: Services, job: str, steer: Callable[[Catalog, int], object]) -> Crawl:
    with services.pool.use() as store:
        crawl = live_crawl_named(store, job)
        if crawl.state is CrawlState.ENDING:
            raise crawls.Conflict(f"job {job} is ending: it cannot be changed any more")
        steer(store.catalog, crawl.id)
        return store.catalog.crawl(crawl.id)


@admin.post("/blacklist", status_code=201, **guarded(Access.ADMIN))
def blacklist(new: Blacklisting, services: Shared, caller: Admin) -> Blacklisted:
    """Honoured for URLs that are found and for those that are queued already."""
    with services.pool.use() as store:
        (rule,) = operators.block(store.rulebook, BlockKind.DOMAIN, [new.domain], new.reason, caller.name)
    return Blacklisted(id=rule.id, domain=rule.value, reason=rule.reason, created_at=iso_time(rule.created_at))


@admin.post("/config/rate-limit", **guarded(Access.ADMIN))
def limit_rate(new: RateLimit, services: Shared) -> RateLimit:
    """The floor of every delay, at once and in all jobs; robots.txt, a job or a host may ask for more."""
    with services.pool.use() as store:
        store.rulebook.set_floor(round(new.default_crawl_delay * 1000))
    return new


@admin.get("/errors", **guarded(Access.READ))
def list_job_errors(
    services: Shared, limit: Annotated[int, Query(ge=1, le=ERRORS_SHOWN_MAX)] = ERRORS_SHOWN
) -> list[ErrorLine]:
    """The latest first."""
    with services.pool.use() as store:
        return [error_line(row) for row in store.catalog.errors(limit)]


router = APIRouter(lifespan=watching, dependencies=[Depends(known_query)])
router.include_router(jobs)
router.include_router(search)
router.include_router(admin)
