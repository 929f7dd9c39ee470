"""The APIs of document 004: crawl jobs (/api/crawl/jobs ...) and their administration (/api/admin/...).

A job is a crawl and its id is the crawl's uuid; the crawl's number is understood, too. Delays are in seconds here.
"""

import os
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import Field
from pydantic.alias_generators import to_camel
from starlette.concurrency import run_in_threadpool

from nephila.api.access import Admin, Writer, guarded
from nephila.api.faces import (
    Camel,
    CamelBody,
    FormatWord,
    Stamp,
    exported,
    may_go_private,
    private_way,
    shown_state,
    streamed,
)
from nephila.api.lookup import find_crawl, live_crawl_named
from nephila.api.problems import asked_for
from nephila.api.query import CRAWL_PATTERN, CrawlRef, PlainText
from nephila.api.routers import strict_router
from nephila.api.routes.export import Accepted
from nephila.api.routes.new_crawls import SEEDS_MAX, Seed, start_crawl
from nephila.api.routes.search import Words
from nephila.api.schemas import REASON_CHARS_MAX
from nephila.api.services import Services, Shared, lent_catalog
from nephila.control import crawls, operators
from nephila.control import search as searching
from nephila.control.export import Record, iso_time, rows_of
from nephila.control.search import Result
from nephila.control.statistics import Overview, overview
from nephila.fetch.manners import FLOOR
from nephila.frontier.catalog import Catalog
from nephila.frontier.operators import BlockKind
from nephila.frontier.records import ErrorRow, Throughput, UrlFilter, UrlRow, WorkerRow
from nephila.frontier.store import Crawl
from nephila.frontier.tokens import Access
from nephila.models import CrawlState, Reason, UrlState
from nephila.profiles import CrawlSettings, ScopeMode, crawl_settings, environment_settings
from nephila.search.index import HITS_MAX
from nephila.search.query import parse_query
from nephila.search.snippet import CUT, plain

PROFILE = "jobs"
DELAY_SECONDS_MAX = 86_400.0
ERRORS_SHOWN, ERRORS_SHOWN_MAX = 100, 1000
FOUND_DEFAULT = 10
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
GIGABYTE = 1e9


# --- jobs -----------------------------------------------------------------------------------------------------------


class JobStatus(StrEnum):
    """The words of the document, which has none for a job that is paused or cancelled."""

    PENDING = "pending"  # nothing was asked for yet, or it is paused
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"  # or cancelled


class NewJob(CamelBody):
    seed_urls: list[Seed] = Field(
        min_length=1,
        max_length=SEEDS_MAX,
        description="where to begin: URLs or bare domains",
        examples=[["https://example.com/"]],
    )
    max_depth: int = Field(3, ge=0, le=10**6, description="links away from a seed that the job goes", examples=[3])
    max_pages: int = Field(10_000, ge=1, le=10**12, description="pages that are crawled, at most", examples=[10000])
    domain_restriction: Literal["same-domain", "none"] = Field(
        "same-domain",
        description="`same-domain`: stay within the domains of the seeds; `none`: follow every link",
        examples=["same-domain"],
    )
    crawl_delay: float = Field(
        1,
        ge=0,
        le=DELAY_SECONDS_MAX,
        allow_inf_nan=False,
        description="seconds between two requests to one domain",
        examples=[1.0],
    )


class JobMade(Camel):
    job_id: str = Field(
        description="id of the job, which is the uuid of the crawl", examples=["6f1c2a8e-3d47-4b90-9c55-0e8b7a1d2f34"]
    )
    status: JobStatus = Field(description="`pending` until the first request", examples=["pending"])
    created_at: Stamp = Field(description="when it was submitted", examples=["2026-03-02T09:30:00.000Z"])


class Job(Camel):
    job_id: str = Field(
        description="id of the job, which is the uuid of the crawl", examples=["6f1c2a8e-3d47-4b90-9c55-0e8b7a1d2f34"]
    )
    status: JobStatus = Field(description="where it is in its life, in the words of document 004", examples=["running"])
    state: CrawlState = Field(
        description="what it really is: a paused job is `pending` and a cancelled one `failed` in the document's words",
        examples=["running"],
    )
    reason: str = Field(description="why it is in this state; empty: nothing to say", examples=[""])
    pages_crawled: int = Field(description="HTML pages that were crawled", examples=[980])
    urls_in_queue: int = Field(description="URLs that wait or are asked for now", examples=[215])
    errors: int = Field(description="URLs that ended with an error", examples=[10])
    started_at: Stamp = Field(description="when it was submitted", examples=["2026-03-02T09:30:00.000Z"])
    estimated_completion: Stamp | None = Field(
        description="when its known URLs will have ended, as far as can be told, or when it ended; null: not known",
        examples=["2026-03-02T10:12:41.000Z"],
    )


class JobPage(Camel):
    url: str = Field(description="as it was normalised", examples=["https://example.com/docs/"])
    title: str | None = Field(description="title of the page; null: it has none", examples=["Documentation"])
    content_hash: str | None = Field(
        description="SHA-256 of the decoded body, in hexadecimal",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )
    crawled_at: str | None = Field(description="when its answer came", examples=["2026-03-02T09:30:00.000Z"])


def settings_for(new: NewJob, *, allow_private: bool) -> CrawlSettings:
    return crawl_settings(
        PROFILE,
        environment_settings(os.environ)
        | {
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
    """`snapshot` comes from the live hub, which reads the store once a second, however many ask."""
    states: dict[str, int] = snapshot["states"]
    begun = bool(states or snapshot["requests"] or snapshot["in_progress"])
    return Job(
        job_id=crawl.uuid,
        status=job_status(crawl.state, crawl.reason, begun=begun),
        state=shown_state(crawl),
        reason=crawl.reason,
        pages_crawled=snapshot["pages"],
        urls_in_queue=snapshot["queued"] + snapshot["in_progress"],
        errors=sum(snapshot["errors"].values()),
        started_at=crawl.created_at,
        estimated_completion=_end_of(crawl, snapshot["eta_seconds"], now_ms),
    )


def _end_of(crawl: Crawl, eta_seconds: float | None, now_ms: int) -> int | None:
    if crawl.ended_at is not None or eta_seconds is None or crawl.state is CrawlState.PAUSED:
        return crawl.ended_at
    return now_ms + round(eta_seconds * 1000)


def page_fields(row: UrlRow) -> Record:
    """By hand: a JobPage that is made and dumped takes three times as long, and exports have millions of rows."""
    return {
        "url": row.url,
        "title": row.title,
        "contentHash": row.content_hash,
        "crawledAt": None if row.fetched_at is None else iso_time(row.fetched_at),
    }


PAGE_COLUMNS = tuple(to_camel(name) for name in JobPage.model_fields)
router = strict_router("/api/crawl", "jobs (004)")


@router.post("/jobs", status_code=201, **guarded(Access.WRITE, 413, 429))
def submit_job(new: NewJob, services: Shared, caller: Writer) -> JobMade:
    """Submit a crawl job.

    It answers at once with the id of the job; a worker begins as soon as one is free. A delay shorter than usual on
    hosts that are not one's own needs access admin.
    """
    settings = settings_for(new, allow_private=may_go_private(services, caller))
    chosen = {FLOOR: "crawlDelay"} if "crawl_delay" in new.model_fields_set else {}
    crawl = start_crawl(
        services, caller, new.seed_urls, settings, field="seedUrls", private_way=private_way(services), chosen=chosen
    )
    return JobMade(job_id=crawl.uuid, status=JobStatus.PENDING, created_at=crawl.created_at)


@router.get("/jobs/{job}", **guarded(Access.READ, 404))
async def show_job(job: CrawlRef, services: Shared) -> Job:
    """Show a job.

    Its status, how far it is and when it may end, at most a second old.
    """
    return await _shown(services, await run_in_threadpool(find_crawl, services, job))


async def _shown(services: Services, crawl: Crawl) -> Job:
    return job_of(crawl, await services.hub.snapshot(crawl.id), services.clock.now_ms())


@router.get(
    "/jobs/{job}/export",
    response_class=StreamingResponse,
    **guarded(Access.READ, 404, answers={200: exported(JobPage)}),
)
def export_job(
    job: CrawlRef, services: Shared, format: FormatWord = "json", accepted: Accepted = ""
) -> StreamingResponse:
    """Export the pages of a job.

    As a stream: memory does not grow with the job. What is no HTML is none of them. It is compressed for whoever sends
    `Accept-Encoding: gzip`.
    """
    crawl = find_crawl(services, job)
    visited = rows_of(lent_catalog(services.pool), crawl.id, UrlFilter(states=(UrlState.VISITED,)))
    rows = (row for row in visited if row.reason != Reason.CONTENT_TYPE)
    return streamed(rows, page_fields, PAGE_COLUMNS, format, f"job-{crawl.uuid}", accepted)


# --- search ---------------------------------------------------------------------------------------------------------


class FoundPage(Camel):
    url: str = Field(description="as it was normalised", examples=["https://example.com/docs/"])
    title: str | None = Field(description="title of the page; null: it has none", examples=["Documentation"])
    snippet: str = Field(
        description="the best place of the page, in context", examples=["...read the documentation before you begin..."]
    )
    crawled_at: Stamp = Field(description="when its answer came", examples=["2026-03-02T09:30:00.000Z"])


class FoundPages(Camel):
    results: list[FoundPage] = Field(description="pages, the best first")
    total: int = Field(description="pages that match, as far as they were counted", examples=[1])


def found_page(found: Result) -> FoundPage:
    text = plain(found.snippet).replace(CUT, "...")
    return FoundPage(url=found.url, title=found.title or None, snippet=text, crawled_at=found.fetched_at)


@router.get("/search", **guarded(Access.READ, 404))
def search_jobs(
    services: Shared,
    q: Words,
    job: Annotated[
        str | None, Query(alias="jobId", pattern=CRAWL_PATTERN, description="only pages of this job; left out: of all")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=HITS_MAX, description="the most that is answered")] = FOUND_DEFAULT,
) -> FoundPages:
    """Search the pages of jobs.

    Crawled pages that have all the words, the best first.
    """
    query = asked_for("q", parse_query, q)
    with services.pool.use() as store:
        found = searching.search(store.catalog, store.index, query, crawl=job, limit=limit)
    return FoundPages(results=[found_page(result) for result in found.results], total=found.total)


# --- throughput -----------------------------------------------------------------------------------------------------


def error_rate(pages: int, errors: int) -> float:
    return round(errors / (pages + errors), 4) if errors else 0.0


# --- administration -------------------------------------------------------------------------------------------------


class WorkerCounts(Camel):
    active: int = Field(description="workers that live", examples=[2])
    total: int = Field(description="the same with those that ended lately", examples=[3])


class QueueCounts(Camel):
    pending_urls: int = Field(description="URLs that wait or are asked for now", examples=[215])
    visited_urls: int = Field(description="URLs that were visited, in all jobs", examples=[980])


class ThroughputCounts(Camel):
    pages_per_second: float = Field(description="URLs answered per second, of all workers", examples=[12.4])
    last1min: int = Field(alias="last1min", description="pages of the last minute", examples=[744])
    last5min: int = Field(alias="last5min", description="pages of the last five minutes", examples=[3650])


class ErrorCounts(Camel):
    last1hour: int = Field(alias="last1hour", description="tries that went wrong in the last hour", examples=[4])
    error_rate: float = Field(description="errors per visit of the last hour, 0.02 being 2 %", examples=[0.0041])


class StorageCounts(Camel):
    total_pages: int = Field(description="URLs that were visited, in all jobs", examples=[980])
    total_size_gb: float = Field(alias="totalSizeGB", description="store and archive, in 10^9 bytes", examples=[0.022])


class Stats(Camel):
    workers: WorkerCounts = Field(description="how many workers there are")
    queue: QueueCounts = Field(description="how many URLs wait, and how many are done")
    throughput: ThroughputCounts = Field(description="how fast it goes")
    errors: ErrorCounts = Field(description="how much goes wrong")
    storage: StorageCounts = Field(description="how much is stored")


class JobWorker(Camel):
    worker_id: str = Field(description="name of this session of the worker", examples=["worker3"])
    name: str = Field(description="WORKER_ID of its environment, else the machine", examples=["crawler-1"])
    status: Literal["active", "gone"] = Field(
        description="`gone`: it has ended, or was taken for dead", examples=["active"]
    )
    current_url: str | None = Field(
        description="the URL that it has been asking for the longest; null: none",
        examples=["https://example.com/docs/"],
    )
    pages_crawled: int = Field(description="URLs that were answered and ended in this session", examples=[980])
    uptime_seconds: int = Field(description="how long the session has lasted", examples=[2561])
    last_heartbeat: Stamp = Field(description="when the store heard of it last", examples=["2026-03-02T10:12:41.000Z"])
    cpu: float = Field(description="cores in use: 1.0 is one whole core", examples=[0.62])
    memory_bytes: int = Field(description="memory in use", examples=[148897792])
    received_bytes_per_second: float = Field(description="bytes received per second, lately", examples=[604112.5])
    sent_bytes_per_second: float = Field(description="bytes sent per second, lately", examples=[5210.0])


class Blacklisting(CamelBody):
    domain: PlainText = Field(
        min_length=1,
        max_length=operators.HOST_CHARS_MAX,
        description="a domain: it and all below it are blocked",
        examples=["spam.example"],
    )
    reason: PlainText = Field(
        "", max_length=REASON_CHARS_MAX, description="why: spam, illegal content, ...", examples=["spam"]
    )


class Blacklisted(Camel):
    id: int = Field(description="number of the block rule", examples=[5])
    domain: str = Field(
        validation_alias="value", description="what is blocked, with all below it", examples=["spam.example"]
    )
    reason: str = Field(description="why", examples=["spam"])
    created_at: Stamp = Field(
        validation_alias="created_at", description="when the rule was made", examples=["2026-03-02T09:30:00.000Z"]
    )


class RateLimit(CamelBody):
    default_crawl_delay: float = Field(
        ge=0,
        le=DELAY_SECONDS_MAX,
        allow_inf_nan=False,
        description="seconds between two requests to one domain, at least, in all jobs",
        examples=[2.0],
    )


class JobError(Camel):
    timestamp: Stamp = Field(description="when it happened", examples=["2026-03-02T09:30:00.000Z"])
    worker_id: str = Field(description="the worker that it happened to", examples=["worker3"])
    url: str = Field(description="the URL that was asked for", examples=["https://example.com/slow"])
    error: str = Field(description="what went wrong, in words", examples=["no answer in 20 s"])
    retries: int = Field(description="tries of this URL so far", examples=[1])


def stats_of(seen: Overview, since: Callable[[int], Throughput]) -> Stats:
    sizes = seen.sizes
    return Stats(
        workers=WorkerCounts(active=seen.workers_alive, total=seen.workers_known),
        queue=QueueCounts(pending_urls=seen.queued + seen.in_progress, visited_urls=sizes.pages),
        throughput=ThroughputCounts(
            pages_per_second=seen.pages_per_s,
            last1min=since(MINUTE_MS).pages,
            last5min=since(5 * MINUTE_MS).pages,
        ),
        errors=ErrorCounts(last1hour=seen.errors_last_hour, error_rate=error_rate(*since(HOUR_MS))),
        storage=StorageCounts(
            total_pages=sizes.pages,
            total_size_gb=round((sizes.store_bytes + sizes.archive_bytes) / GIGABYTE, 3),
        ),
    )


def worker_name(number: int) -> str:
    return f"worker{number}"


def worker_of(row: WorkerRow, now_ms: int) -> JobWorker:
    return JobWorker(
        worker_id=worker_name(row.id),
        name=row.name,
        status="active" if row.alive else "gone",
        current_url=row.current[0] if row.current else None,
        pages_crawled=row.vitals.pages,
        uptime_seconds=max(0, (now_ms if row.alive else row.seen_at) - row.started_at) // 1000,
        last_heartbeat=row.seen_at,
        cpu=row.vitals.cpu,
        memory_bytes=row.vitals.rss_bytes,
        received_bytes_per_second=row.vitals.received_per_s,
        sent_bytes_per_second=row.vitals.sent_per_s,
    )


def error_of(row: ErrorRow) -> JobError:
    return JobError(
        timestamp=row.at,
        worker_id=worker_name(row.worker),
        url=row.url,
        error=row.detail or row.reason,
        retries=row.tries,
    )


admin_router = strict_router("/api/admin", "administration (004)")


@admin_router.get("/stats", **guarded(Access.READ))
def show_stats(services: Shared) -> Stats:
    """Show workers, queue, throughput, errors and storage.

    Of all jobs together.
    """
    with services.pool.use() as store:
        return stats_of(overview(store.catalog), store.catalog.throughput)


@admin_router.get("/workers", **guarded(Access.READ))
def list_job_workers(services: Shared) -> list[JobWorker]:
    """List the workers and what each does now.

    Those that ended lately included.
    """
    with services.pool.use() as store:
        return [worker_of(row, services.clock.now_ms()) for row in store.catalog.workers()]


@admin_router.post("/jobs/{job}/pause", **guarded(Access.ADMIN, 404, 409))
async def pause_job(job: CrawlRef, services: Shared) -> Job:
    """Pause a job.

    It answers when no request of the job starts any more. In the words of document 004 the job is `pending` then.
    """
    return await _steered(services, job, crawls.pause)


@admin_router.post("/jobs/{job}/resume", **guarded(Access.ADMIN, 404, 409))
async def resume_job(job: CrawlRef, services: Shared) -> Job:
    """Go on with a paused job.

    What was queued when it was paused is asked for now.
    """
    return await _steered(services, job, crawls.go_on)


@admin_router.post("/jobs/{job}/cancel", **guarded(Access.ADMIN, 404, 409))
async def cancel_job(job: CrawlRef, services: Shared) -> Job:
    """Cancel a job.

    It answers when no request of the job starts any more. In the words of document 004 the job is `failed` then.
    """
    return await _steered(services, job, crawls.cancel)


async def _steered(services: Services, job: str, steer: Callable[[Catalog, int], object]) -> Job:
    return await _shown(services, await run_in_threadpool(_steer, services, job, steer))


def _steer(services: Services, job: str, steer: Callable[[Catalog, int], object]) -> Crawl:
    with services.pool.use() as store:
        crawl = live_crawl_named(store, job)
        if crawl.state is CrawlState.ENDING:
            raise crawls.Conflict(f"job {job} is ending: it cannot be changed any more")
        steer(store.catalog, crawl.id)
        return store.catalog.crawl(crawl.id)


@admin_router.post("/blacklist", status_code=201, **guarded(Access.ADMIN))
def blacklist(new: Blacklisting, services: Shared, caller: Admin) -> Blacklisted:
    """Block a domain.

    For URLs that are found and for those that are queued already, in all jobs.
    """
    with services.pool.use() as store:
        (rule,) = operators.block(store.rulebook, BlockKind.DOMAIN, [new.domain], new.reason, caller.name)
    return Blacklisted.model_validate(rule)


@admin_router.post("/config/rate-limit", **guarded(Access.ADMIN))
def limit_rate(new: RateLimit, services: Shared) -> RateLimit:
    """Set the shortest delay of every domain.

    It holds at once and in all jobs; robots.txt, a job or the rule of a host may ask for more.
    """
    with services.pool.use() as store:
        store.rulebook.set_floor(round(new.default_crawl_delay * 1000))
    return new


@admin_router.get("/errors", **guarded(Access.READ))
def list_job_errors(
    services: Shared,
    limit: Annotated[int, Query(ge=1, le=ERRORS_SHOWN_MAX, description="the most that is answered")] = ERRORS_SHOWN,
) -> list[JobError]:
    """List the latest errors of all jobs.

    The last one first, with the worker that it happened to.
    """
    with services.pool.use() as store:
        return [error_of(row) for row in store.catalog.errors(limit)]
