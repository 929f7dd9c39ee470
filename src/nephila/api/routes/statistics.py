"""A crawl, and all crawls, in numbers."""

import os
import resource

from fastapi import APIRouter

from nephila.api.access import guarded
from nephila.api.lookup import crawl_named
from nephila.api.query import CrawlRef
from nephila.api.schemas import OverviewView, ProcessUse, StatisticsView, StoredSizes, TimeBucket
from nephila.api.services import Services, Shared
from nephila.control.statistics import CrawlStatistics, crawl_statistics, overview
from nephila.frontier.operators import Access

router = APIRouter(tags=["statistics"])


@router.get("/crawls/{crawl}/stats", **guarded(Access.READ, 404))
def get_statistics(shared: Shared, crawl: CrawlRef) -> StatisticsView:
    """By state, host, depth, content type, status and time."""
    with shared.pool.use() as store:
        return _view(crawl_statistics(store.catalog, crawl_named(store, crawl)))


def _view(found: CrawlStatistics) -> StatisticsView:
    return StatisticsView(
        total_urls=found.urls,
        unique_domains=found.hosts_count,
        max_depth_reached=found.depth_max,
        status_counts=found.states,
        counted=found.counted,
        sampled=found.sampled,
        errors=found.errors,
        refusals=found.refusals,
        depths={str(depth): count for depth, count in found.depths.items()},
        hosts=found.hosts,
        content_types=found.content_types,
        statuses={str(status): count for status, count in found.statuses.items()},
        bucket_seconds=found.bucket_seconds,
        times=[TimeBucket.model_validate({"at": at, "pages": pages}) for at, pages in found.times.items()],
    )


@router.get("/stats", **guarded(Access.READ))
def get_overview(shared: Shared) -> OverviewView:
    """All crawls, workers and stores together, and what this process uses."""
    with shared.pool.use() as store:
        found = overview(store.catalog, shared.clock.now_ms())
    fields = {name: getattr(found, name) for name in OverviewView.model_fields if name not in ("process", "sizes")}
    return OverviewView(**fields, sizes=StoredSizes.model_validate(found.sizes), process=process_use(shared))


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
