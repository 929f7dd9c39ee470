"""Statistics of one crawl and of all crawls.

Numbers of URLs and hosts, and URLs by state, error, refusal, depth, content type and status are exact at any size: they
are tallies, which every flush brings with its rows. The tables by host and time are counted over rows, in a large crawl
over a sample that is spread evenly over its ids."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from nephila.control.export import rows_of
from nephila.control.graph import StatusWord, status_word
from nephila.control.progress import KindCounts, errors_of, refusals_by_reason, requisites_of
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import Sizes, UrlFilter, UrlRow
from nephila.frontier.store import Crawl
from nephila.models import (
    DEPTH_PREFIX,
    OTHER_TYPES,
    STATUS_PREFIX,
    TYPE_PREFIX,
    TYPES_MAX,
    CrawlState,
    Tally,
    UrlState,
)

ROWS_MAX = 20_000  # rows read for one answer, which takes a tenth of a second
SLICE_ROWS = 1000
TOP_MAX = 50  # hosts that are named
BUCKETS_MAX = 200
BUCKET_SECONDS = (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)
HOUR_MS = 3_600_000


@dataclass(slots=True)
class CrawlStatistics:
    urls: int
    states: dict[str, int]
    status_counts: dict[StatusWord, int]  # the same in the words of document 001
    errors: dict[str, int]
    requisites: KindCounts
    refusals: dict[str, int]
    depth_max: int
    hosts_count: int
    depths: dict[str, int]  # of pages; the last one may be DEEPER
    content_types: dict[str, int]  # of the last answers; OTHER_TYPES beyond TYPES_MAX
    statuses: dict[str, int]
    counted: int  # rows that what follows is made of
    sampled: bool  # the rows counted are not all rows
    hosts: dict[str, int]
    bucket_seconds: int
    times: dict[int, int]  # ms since 1970 at which a bucket begins -> fetched in it


@dataclass(slots=True)
class _Counters:
    rows: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    seconds: Counter[int] = field(default_factory=Counter)

    def add(self, row: UrlRow) -> None:
        self.rows += 1
        self.hosts[row.host] += 1
        if row.fetched_at is not None:
            self.seconds[row.fetched_at // 1000] += 1


def crawl_statistics(catalog: Catalog, crawl: Crawl) -> CrawlStatistics:
    counts = catalog.tallies(crawl.id)
    urls = counts.get(Tally.URLS, 0)
    found = _Counters()
    for row in _sample(catalog, crawl.id, urls):
        found.add(row)
    size, times = buckets(found.seconds)
    return CrawlStatistics(
        urls=urls,
        states=states_of(counts),
        status_counts=status_counts(counts),
        errors=dict(errors_of(counts)),
        requisites=requisites_of(counts),
        refusals=dict(refusals_by_reason(catalog.refusals(crawl.id))),
        depth_max=counts.get(Tally.DEPTH_MAX, 0),
        hosts_count=counts.get(Tally.HOSTS, 0),
        depths=counted_by(counts, DEPTH_PREFIX),
        content_types=types_of(counts),
        statuses=counted_by(counts, STATUS_PREFIX),
        counted=found.rows,
        sampled=urls > ROWS_MAX,
        hosts=dict(found.hosts.most_common(TOP_MAX)),
        bucket_seconds=size,
        times=times,
    )


def states_of(counts: Mapping[str, int]) -> dict[str, int]:
    return {state: counts[state] for state in UrlState if counts.get(state)}


def status_counts(counts: Mapping[str, int]) -> dict[StatusWord, int]:
    found = dict.fromkeys(StatusWord, 0)
    for state in UrlState:
        found[status_word(state)] += counts.get(state, 0)
    return found


def counted_by(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    """The tallies whose names begin so, by the rest of their names: numbers in their order, then words."""
    found = {name.removeprefix(prefix): n for name, n in counts.items() if n and name.startswith(prefix)}
    return dict(sorted(found.items(), key=lambda pair: (not pair[0].isdecimal(), len(pair[0]), pair[0])))


def types_of(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent content types first, TYPES_MAX of them; the others are OTHER_TYPES."""
    found = Counter(counted_by(counts, TYPE_PREFIX))
    others = found.pop(OTHER_TYPES, 0)
    named = found.most_common(TYPES_MAX)
    if others := others + found.total() - sum(n for _, n in named):
        named.append((OTHER_TYPES, others))
    return dict(named)


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
        yield from islice(rows_of(catalog, crawl_id, UrlFilter()), 2 * ROWS_MAX)  # twice: it may grow meanwhile
        return
    first = catalog.urls(crawl_id, 0, 1, UrlFilter())
    last = catalog.urls(crawl_id, 0, 1, UrlFilter(), descending=True)
    slices = ROWS_MAX // SLICE_ROWS
    for at in range(slices if first and last else 0):
        start = first[0].id - 1 + (last[0].id - first[0].id) * at // slices
        rows = catalog.urls(crawl_id, start, SLICE_ROWS, UrlFilter())
        yield from (row for row in rows if row.kind.traits.page)


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
    received_per_s: float  # bytes
    sent_per_s: float
    errors_last_hour: int
    sizes: Sizes


def overview(catalog: Catalog) -> Overview:
    by_state, workers = catalog.count_crawls().by_state, catalog.workers()
    open_counts = [catalog.tallies(crawl.id) for crawl in catalog.open_crawls()]
    alive = [worker for worker in workers if worker.alive]
    return Overview(
        crawls={state: by_state.get(state, 0) for state in CrawlState},
        queued=sum(counts.get(UrlState.QUEUED, 0) for counts in open_counts),
        in_progress=sum(counts.get(UrlState.IN_PROGRESS, 0) for counts in open_counts),
        workers_alive=len(alive),
        workers_known=len(workers),
        pages_per_s=round(sum(worker.vitals.pages_per_s for worker in alive), 2),
        cpu=round(sum(worker.vitals.cpu for worker in alive), 3),
        rss_bytes=sum(worker.vitals.rss_bytes for worker in alive),
        received_per_s=round(sum(worker.vitals.received_per_s for worker in alive), 1),
        sent_per_s=round(sum(worker.vitals.sent_per_s for worker in alive), 1),
        errors_last_hour=catalog.throughput(HOUR_MS).errors,
        sizes=catalog.sizes(),
    )
