"""A crawl, and all crawls, in numbers."""

import os
import resource
from contextlib import suppress
from dataclasses import asdict

from pydantic import ConfigDict, Field

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import CrawlRef
from nephila.api.routers import noun_router
from nephila.api.routes.crawls import RequisitesView
from nephila.api.schemas import Moment, View, view_of
from nephila.api.services import Services, Shared
from nephila.control.derivation import DerivationProgress, derivations_of, progress_of
from nephila.control.graph import StatusWord
from nephila.control.statistics import Overview, crawl_statistics, overview
from nephila.errors import StoreUnavailable
from nephila.frontier.records import Sizes
from nephila.frontier.tokens import Access

router = noun_router("statistics")


class TimeBucket(View):
    at: Moment = Field(description="when the bucket begins", examples=["2026-03-02T09:30:00Z"])
    pages: int = Field(description="URLs answered in it", examples=[720])


class HistorySampleView(View):
    """The counts of a crawl at a time."""

    at: Moment = Field(description="when it was taken", examples=["2026-03-02T09:30:00Z"])
    answered: int = Field(description="requests that had an answer, since the beginning", examples=[812])
    ended: int = Field(description="URLs that have ended", examples=[790])
    queued: int = Field(description="URLs that are open", examples=[240])
    failed: int = Field(description="URLs that have ended with an error", examples=[6])


class HistoryView(View):
    samples: list[HistorySampleView] = Field(description="in order of time, 512 at most")


class StatisticsView(View):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    total_urls: int = Field(validation_alias="urls", description="URLs that are known; exact", examples=[1240])
    unique_domains: int = Field(
        validation_alias="hosts_count", description="hosts that URLs are known of; exact", examples=[3]
    )
    max_depth_reached: int = Field(
        validation_alias="depth_max", description="the most links from a seed to one of its pages; exact", examples=[6]
    )
    states: dict[str, int] = Field(
        description="URLs by state; docs/url-states.md says what each means",
        examples=[{"queued": 203, "in_progress": 12, "visited": 980, "redirected": 35, "not_found": 8, "failed": 2}],
    )
    status_counts: dict[StatusWord, int] = Field(
        description="the same in the words of document 001",
        examples=[{"PENDING": 203, "IN-PROGRESS": 12, "COMPLETED": 1015, "FAILED": 10}],
    )
    errors: dict[str, int] = Field(
        description="URLs that ended with an error, by kind", examples=[{"not_found": 8, "timeout": 2}]
    )
    requisites: RequisitesView = Field(description="what its pages need: in none of the other numbers")
    refusals: dict[str, int] = Field(
        description="links that were not taken up, by reason (`scope`, `depth`, `exclude`, ...)",
        examples=[{"scope": 410, "depth": 12}],
    )
    depths: dict[str, int] = Field(
        description="pages by links from a seed; `deeper`: 1,000 and more", examples=[{"0": 1, "1": 42, "2": 1197}]
    )
    content_types: dict[str, int] = Field(
        description="URLs by the type of their last answer; 50 by name, then `other`",
        examples=[{"text/html": 1002, "application/pdf": 21}],
    )
    statuses: dict[str, int] = Field(
        description="URLs by the status of their last answer", examples=[{"200": 980, "301": 35, "404": 8}]
    )
    counted: int = Field(description="URLs that the tables below, hosts and times, are made of", examples=[1240])
    sampled: bool = Field(description="those are a sample, spread evenly; all above is exact", examples=[False])
    hosts: dict[str, int] = Field(
        description="URLs by host, the hosts with the most first",
        examples=[{"example.com": 1180, "blog.example.com": 60}],
    )
    bucket_seconds: int = Field(description="how long each of `times` is", examples=[60])
    times: list[TimeBucket] = Field(description="URLs answered over time")


@view_of(
    Sizes,
    urls=Field(description="URLs of all crawls", examples=[1240]),
    pages=Field(description="of these, visited", examples=[980]),
    received_bytes=Field(description="bytes received in bodies", examples=[48210344]),
    store_bytes=Field(description="size of the database", examples=[6291456]),
    archive_bytes=Field(description="size of all archive files", examples=[15728640]),
)
class StoredSizes(View):
    pass


class ProcessUse(View):
    pid: int = Field(description="number of the process", examples=[4240])
    started_at: Moment = Field(description="when it was started", examples=["2026-03-02T09:30:00Z"])
    cpu_seconds: float = Field(description="time of a core that it has used", examples=[81.35])
    rss_bytes: int = Field(description="the most memory that it has used", examples=[112197632])
    local_workers: int = Field(description="worker processes that it keeps", examples=[2])
    waiting: str = Field(description="why nothing can be stored now; empty: all is well", examples=[""])


@view_of(
    DerivationProgress,
    name=Field(description="what is derived", examples=["search"]),
    version=Field(description="of how it is derived: a newer one begins anew", examples=[2]),
    pages=Field(description="pages that are derived", examples=[980]),
    pending_bytes=Field(description="its lag: bytes of the archive that are not derived yet", examples=[0]),
    skipped=Field(description="records that could not be derived and were skipped", examples=[0]),
)
class DerivationView(View):
    pass


@view_of(
    Overview,
    crawls=Field(description="crawls by status", examples=[{"running": 1, "completed": 6}]),
    queued=Field(description="URLs that wait, of crawls that are not over", examples=[203]),
    in_progress=Field(description="URLs that are asked for now", examples=[12]),
    workers_alive=Field(description="workers that live, on all machines", examples=[2]),
    workers_known=Field(description="the same with those that ended lately", examples=[3]),
    pages_per_s=Field(description="URLs answered per second, of all workers", examples=[12.4]),
    cpu=Field(description="cores that the workers use", examples=[1.2]),
    rss_bytes=Field(description="memory that the workers use", examples=[297795584]),
    received_per_s=Field(description="bytes per second that the workers receive", examples=[604112.5]),
    sent_per_s=Field(description="bytes per second that the workers send", examples=[5210.0]),
    errors_last_hour=Field(description="tries that went wrong in the last hour", examples=[4]),
)
class OverviewView(View):
    sizes: StoredSizes = Field(description="what all crawls together take")
    process: ProcessUse = Field(description="what this server itself uses")
    derivations: list[DerivationView] = Field(description="what is derived from the archive; empty: it cannot be read")


@router.get("/crawls/{crawl}/history", **guarded(Access.READ, 404))
def get_history(shared: Shared, crawl: CrawlRef) -> HistoryView:
    """Tell how a crawl went: its counts over the whole of its life.

    At first there is a sample every second. The longer it runs, the further they are apart: there are never more than
    512. While it is paused none are taken; the last one is of its end.
    """
    with shared.pool.use() as store:
        return HistoryView.model_validate({"samples": store.catalog.history(crawl_named(store, crawl).id)})


@router.get("/crawls/{crawl}/stats", **guarded(Access.READ, 404))
def get_statistics(shared: Shared, crawl: CrawlRef) -> StatisticsView:
    """Count the URLs of a crawl.

    By state, host, depth, content type, status and time. Tables that would take long are made of a sample: `sampled`
    says so.
    """
    with shared.pool.use() as store:
        found = crawl_statistics(store.catalog, crawl_named(store, crawl))
    times = [{"at": at, "pages": pages} for at, pages in found.times.items()]
    return StatisticsView.model_validate(asdict(found) | {"times": times})


@router.get("/stats", **guarded(Access.READ))
def get_overview(shared: Shared) -> OverviewView:
    """Count all crawls, workers and stores.

    All together, and what this process uses.
    """
    with shared.pool.use() as store:
        found, derivations = overview(store.catalog), []
        with suppress(StoreUnavailable):  # the embedded store has what is derived in files of their own
            derivations = progress_of(store.catalog, store.ledger, derivations_of(store))
    more = {"process": process_use(shared), "derivations": list(map(asdict, derivations))}
    return OverviewView.model_validate(asdict(found) | more)


def process_use(shared: Services) -> ProcessUse:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return ProcessUse.model_validate(
        {
            "pid": os.getpid(),
            "started_at": shared.started_at,
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
            "rss_bytes": used.ru_maxrss * 1024,
            "local_workers": shared.crew.size if shared.crew else 0,
            "waiting": shared.crew.waiting if shared.crew else "",
        }
    )
