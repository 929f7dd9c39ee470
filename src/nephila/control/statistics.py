"""What a crawl and all crawls look like in numbers. By state they are exact; the rest is counted over rows, of a large
crawl over a sample that is spread evenly over its life."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nephila.control.progress import errors_of
from nephila.frontier.store import Catalog, Crawl, Sizes, UrlFilter, UrlRow
from nephila.models import CrawlState, Kind, UrlState

ROWS_MAX = 20_000  # read for one answer: a tenth of a second
SLICE_ROWS = 1000
TOP_MAX = 50  # hosts and content types that are named
BUCKETS_MAX = 200
BUCKET_SECONDS = (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)
NO_TYPE = "none"
ERRORS_LOOKED_MAX = 1000
HOUR_MS = 3_600_000


@dataclass(slots=True)
class CrawlStatistics:
    urls: int
    counted: int  # rows that the tables below are made of
    sampled: bool  # not all of them
    states: dict[str, int]  # exact
    errors: dict[str, int]  # exact
    refusals: dict[str, int]  # exact
    depth_max: int
    hosts_count: int
    depths: dict[int, int]
    hosts: dict[str, int]
    content_types: dict[str, int]
    statuses: dict[int, int]
    bucket_seconds: int
    times: dict[int, int]  # ms since 1970 at which a bucket begins -> fetched in it


@dataclass(slots=True)
class _Counters:
    rows: int = 0
    depths: Counter[int] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: Counter[int] = field(default_factory=Counter)

    def add(self, row: UrlRow) -> None:
        self.rows += 1
        self.depths[row.depth] += 1
        self.hosts[row.host] += 1
        if row.status is not None:
            self.statuses[row.status] += 1
            self.types[media_type(row.content_type)] += 1
        if row.fetched_at is not None:
            self.seconds[row.fetched_at // 1000] += 1


def crawl_statistics(catalog: Catalog, crawl: Crawl) -> CrawlStatistics:
    counts = catalog.tallies(crawl.id)
    urls = counts.get("urls", 0)
    found = _Counters()
    for row in _sample(catalog, crawl.id, urls):
        found.add(row)
    size, times = buckets(found.seconds)
    refusals: Counter[str] = Counter()
    for _, reason, count in catalog.refusals(crawl.id):
        refusals[reason] += count
    return CrawlStatistics(
        urls=urls,
        counted=found.rows,
        sampled=urls > ROWS_MAX,
        states=states_of(counts),
        errors=dict(errors_of(counts)),
        refusals=dict(refusals.most_common()),
        depth_max=max(found.depths, default=0),
        hosts_count=len(found.hosts),
        depths=dict(sorted(found.depths.items())),
        hosts=dict(found.hosts.most_common(TOP_MAX)),
        content_types=dict(found.types.most_common(TOP_MAX)),
        statuses=dict(sorted(found.statuses.items())),
        bucket_seconds=size,
        times=times,
    )


def states_of(counts: Mapping[str, int]) -> dict[str, int]:
    return {state: counts[state] for state in UrlState if counts.get(state)}


def media_type(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip().lower() or NO_TYPE


def buckets(seconds: Mapping[int, int]) -> tuple[int, dict[int, int]]:
    """The finest size that needs no more than BUCKETS_MAX, and what falls into each."""
    if not seconds:
        return BUCKET_SECONDS[0], {}
    span = max(seconds) - min(seconds)
    size = next((size for size in BUCKET_SECONDS if span < size * BUCKETS_MAX), BUCKET_SECONDS[-1])
    times: Counter[int] = Counter()
    for second, count in seconds.items():
        times[second // size * size * 1000] += count
    return size, dict(sorted(times.items())[-BUCKETS_MAX:])


def _sample(catalog: Catalog, crawl_id: int, urls: int) -> Iterator[UrlRow]:
    """All rows, or slices of equal size at equal distances of their ids."""
    if urls <= ROWS_MAX:
        yield from _slices_in_a_row(catalog, crawl_id)
        return
    first = catalog.urls(crawl_id, 0, 1, UrlFilter())
    last = catalog.urls(crawl_id, 0, 1, UrlFilter(), descending=True)
    slices = ROWS_MAX // SLICE_ROWS
    for at in range(slices if first and last else 0):
        start = first[0].id - 1 + (last[0].id - first[0].id) * at // slices
        yield from _pages(catalog.urls(crawl_id, start, SLICE_ROWS, UrlFilter()))


def _slices_in_a_row(catalog: Catalog, crawl_id: int) -> Iterator[UrlRow]:
    after = 0
    for _ in range(2 * ROWS_MAX // SLICE_ROWS):  # twice: it may grow meanwhile
        rows = catalog.urls(crawl_id, after, SLICE_ROWS, UrlFilter())
        if not rows:
            return
        after = rows[-1].id
        yield from _pages(rows)


def _pages(rows: list[UrlRow]) -> Iterator[UrlRow]:
    return (row for row in rows if row.kind is Kind.PAGE)


@dataclass(frozen=True, slots=True)
class Overview:
    """All crawls and workers together."""

    crawls: dict[str, int]  # by state
    queued: int  # of crawls that are not over
    in_progress: int
    workers_alive: int
    workers_known: int
    pages_per_s: float
    cpu: float  # cores in use by the workers
    rss_bytes: int
    errors_last_hour: int  # counted up to ERRORS_LOOKED_MAX
    sizes: Sizes


def overview(catalog: Catalog, now_ms: int) -> Overview:
    crawls, workers = catalog.crawls(), catalog.workers()
    open_counts = [catalog.tallies(crawl.id) for crawl in crawls if not crawl.state.over]
    alive = [worker for worker in workers if worker.alive]
    errors = catalog.errors(ERRORS_LOOKED_MAX)
    by_state = Counter(crawl.state for crawl in crawls)
    return Overview(
        crawls={state: by_state[state] for state in CrawlState},
        queued=sum(counts.get("queued", 0) for counts in open_counts),
        in_progress=sum(counts.get("in_progress", 0) for counts in open_counts),
        workers_alive=len(alive),
        workers_known=len(workers),
        pages_per_s=round(sum(worker.vitals.pages_per_s for worker in alive), 2),
        cpu=round(sum(worker.vitals.cpu for worker in alive), 3),
        rss_bytes=sum(worker.vitals.rss_bytes for worker in alive),
        errors_last_hour=sum(error.at > now_ms - HOUR_MS for error in errors),
        sizes=catalog.sizes(),
    )
