"""Every metric, declared once: its name, help, label and the processes that have it. docs/observability.md lists all.

Values are plain numbers that one thread writes and a scrape reads: prometheus_client only renders them. Its own
counters take a lock for each step, which a worker would pay for several times a page.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

LABEL_VALUES_MAX = 300  # series of one metric; further ones are added up as OTHER
OTHER = "other"
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
WAIT_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
STORE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Place(StrEnum):
    """The process whose /metrics has a metric."""

    WORKER = "worker"
    CONTROL = "control plane"


class Metric(NamedTuple):
    name: str
    kind: MetricKind
    places: tuple[Place, ...]
    help: str
    label: str = ""
    buckets: tuple[float, ...] = ()


WORKER, CONTROL = (Place.WORKER,), (Place.CONTROL,)
COUNTER, GAUGE, HISTOGRAM = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

# --- requests and pages: a worker's -----------------------------------------------------------------------------------

FETCH_DURATION = Metric(
    "crawl_fetch_duration_seconds",
    HISTOGRAM,
    WORKER,
    "From the start of a request, its host's turn having come, to the headers of its answer",
    buckets=REQUEST_SECONDS,
)
PROCESSING_DURATION = Metric(
    "crawl_processing_duration_seconds",
    HISTOGRAM,
    WORKER,
    "From the headers of an answer to the commit of its outcome: body, parsing, archive, store",
    buckets=REQUEST_SECONDS,
)
QUEUE_LATENCY = Metric(
    "crawl_queue_latency_seconds",
    HISTOGRAM,
    WORKER,
    "From the moment a worker took a URL out of the store to its request: the host's delay and the URLs before it",
    buckets=WAIT_SECONDS,
)
FLUSH_DURATION = Metric(
    "crawl_flush_duration_seconds",
    HISTOGRAM,
    WORKER,
    "One flush: the archive made durable and one transaction of the store",
    buckets=STORE_SECONDS,
)
DNS_DURATION = Metric(
    "crawl_dns_duration_seconds",
    HISTOGRAM,
    WORKER,
    "Looking a name up, where it was not known",
    buckets=REQUEST_SECONDS,
)
CONNECT_DURATION = Metric(
    "crawl_connect_duration_seconds",
    HISTOGRAM,
    WORKER,
    "Connecting, where no connection was open",
    buckets=REQUEST_SECONDS,
)
TLS_DURATION = Metric(
    "crawl_tls_duration_seconds", HISTOGRAM, WORKER, "TLS handshakes of new connections", buckets=REQUEST_SECONDS
)
TLS_HANDSHAKES = Metric(
    "crawl_tls_handshakes_total",
    COUNTER,
    WORKER,
    "TLS handshakes of new connections: full, resumed with an earlier session, or unknown where nobody looked",
    "kind",
)
FIRST_BYTE_DURATION = Metric(
    "crawl_first_byte_duration_seconds",
    HISTOGRAM,
    WORKER,
    "From a request that was sent to the headers of its answer",
    buckets=REQUEST_SECONDS,
)
RESPONSES = Metric(
    "crawl_responses_total", COUNTER, WORKER, "Answers by class of their status, robots.txt too", "class"
)
FETCH_ERRORS = Metric(
    "crawl_fetch_errors_total", COUNTER, WORKER, "Requests without an answer, by reason: timeout, dns, tls", "reason"
)
RATE_LIMITED = Metric("crawl_rate_limited_total", COUNTER, WORKER, "Answers 429: the host wants fewer requests")
RECEIVED_BYTES = Metric("crawl_received_bytes_total", COUNTER, WORKER, "Bytes of response heads and bodies")
SENT_BYTES = Metric("crawl_sent_bytes_total", COUNTER, WORKER, "Bytes of request heads")
ROBOTS = Metric(
    "crawl_robots_total",
    COUNTER,
    WORKER,
    "Answers to robots.txt by what they permit; hold: it could not be had",
    "access",
)
ROBOTS_FAILED = Metric(
    "crawl_robots_failures_total",
    COUNTER,
    WORKER,
    "Requests for a robots.txt that could not be had, by reason",
    "reason",
)
ROBOTS_BLOCKED = Metric(
    "crawl_robots_blocked_total",
    COUNTER,
    WORKER,
    "URLs that were not fetched because robots.txt disallows them (robots) or could not be had",
    "reason",
)
HOSTS_DEAD = Metric(
    "crawl_hosts_dead_total", COUNTER, WORKER, "Hosts of a crawl that were given up, by reason", "reason"
)
HOSTS_HELD = Metric("crawl_hosts_held", GAUGE, WORKER, "Hosts that the worker has in memory, at the last flush")
ARCHIVED_RECORDS = Metric("crawl_archived_responses_total", COUNTER, WORKER, "Responses written into the archive")
ARCHIVED_BYTES = Metric("crawl_archived_bytes_total", COUNTER, WORKER, "Bytes of these in the archive, compressed")
PROCESSED = Metric("processed_urls_total", COUNTER, WORKER, "URLs that ended or wait for another try")
ENDED = Metric("crawl_urls_ended_total", COUNTER, WORKER, "URLs by the state that they ended in", "state")
END_REASONS = Metric(
    "crawl_urls_ended_reasons_total",
    COUNTER,
    WORKER,
    "URLs that a worker ended for a reason: failures by kind",
    "reason",
)
VISITED = Metric("crawl_urls_visited_total", COUNTER, WORKER, "URLs that ended visited")
FAILED = Metric("crawl_urls_failed_total", COUNTER, WORKER, "URLs that ended failed")
RETRIED = Metric("crawl_urls_retried_total", COUNTER, WORKER, "Tries that failed and will be repeated")
REQUEUED = Metric(
    "crawl_urls_requeued_total",
    COUNTER,
    WORKER,
    "Visits that were cut off, by a stop or a lost lease; their URLs stay queued",
)
DISCOVERED = Metric(
    "crawl_urls_discovered_total", COUNTER, WORKER, "Links handed to the store; it knows some of them already"
)
RECONCILED = Metric(
    "crawl_queue_reconciliation_enqueued_total",
    COUNTER,
    WORKER,
    "URLs taken out of the store into a worker's memory; far above the visited ones: they go back unvisited",
)
FETCHING = Metric("crawl_fetches_in_flight", GAUGE, WORKER, "Visits in flight at the last flush")
FENCED = Metric("crawl_batches_fenced_total", COUNTER, WORKER, "Batches dropped because another had taken over")
REFUSED = Metric(
    "crawl_outcomes_refused_total",
    COUNTER,
    WORKER,
    "Outcomes of URLs that had ended meanwhile: cancelled, blocked, evicted",
)
CROWDED_OUT = Metric(
    "crawl_urls_dropped_total", COUNTER, WORKER, "Links refused because limits.max_frontier URLs were open"
)
SITEMAPS = Metric(
    "crawl_sitemaps_total",
    COUNTER,
    WORKER,
    "Sitemaps that ended: read (ok), read up to a problem (broken, too_many), or the state of those that were not had",
    "result",
)
SITEMAP_ENTRIES = Metric(
    "crawl_sitemap_entries_total",
    COUNTER,
    WORKER,
    "URLs that sitemaps list and the crawl admits, handed to the store; it knows some of them already",
)

# --- upkeep: whoever does it ------------------------------------------------------------------------------------------

STALE_RECOVERED = Metric(
    "crawl_stale_claims_recovered_total",
    COUNTER,
    (Place.WORKER, Place.CONTROL),
    "Sessions of dead workers that were fenced; everything they held is free again",
)
STALE_ROWS = Metric(
    "crawl_stale_urls_recovered_total",
    COUNTER,
    (Place.WORKER, Place.CONTROL),
    "URLs that fenced sessions had in flight; they are asked for again",
)
RECONCILIATION_CYCLES = Metric(
    "crawl_queue_reconciliation_cycles_total", COUNTER, CONTROL, "Rounds of upkeep that this process has done"
)
RECONCILIATION_DURATION = Metric(
    "crawl_reconciliation_cycle_duration_seconds", HISTOGRAM, CONTROL, "One round of upkeep", buckets=STORE_SECONDS
)
COMPLETION_CHECKS = Metric(
    "crawl_completion_checks_total", COUNTER, CONTROL, "Looks for crawls that are over; polling progress is none"
)

# --- the store, as the control plane reads it -------------------------------------------------------------------------

RUNS_STARTED = Metric(
    "crawl_runs_started_total", COUNTER, CONTROL, "Crawls of this store created since this process started, by whomever"
)
RUNS_COMPLETED = Metric(
    "crawl_runs_completed_total", COUNTER, CONTROL, "Crawls of this store completed since this process started"
)
RUNS = Metric("crawl_runs_gauge", GAUGE, CONTROL, "Crawls by state", "state")
URLS = Metric("crawl_urls_gauge", GAUGE, CONTROL, "URLs of unfinished crawls", "crawl")
QUEUED = Metric("crawl_urls_queued_gauge", GAUGE, CONTROL, "URLs of unfinished crawls that wait", "crawl")
IN_PROGRESS = Metric("crawl_urls_in_progress_gauge", GAUGE, CONTROL, "URLs of unfinished crawls in flight", "crawl")
FAILED_NOW = Metric("crawl_urls_failed_gauge", GAUGE, CONTROL, "URLs of unfinished crawls that ended failed", "crawl")
QUEUE_AGE = Metric(
    "crawl_queue_age_seconds", GAUGE, CONTROL, "How long the most overdue host has waited for a worker to take it up"
)
WORKERS_ALIVE = Metric("crawl_workers_alive", GAUGE, CONTROL, "Workers whose session lives")
WORKER_CPU = Metric("crawl_worker_cpu_cores", GAUGE, CONTROL, "Cores that a worker uses, by its heartbeat", "worker")
WORKER_MEMORY = Metric("crawl_worker_memory_bytes", GAUGE, CONTROL, "Memory of a worker, by its heartbeat", "worker")
WORKER_RECEIVED = Metric(
    "crawl_worker_received_bytes_per_second", GAUGE, CONTROL, "Bytes a second that a worker receives", "worker"
)
WORKER_SENT = Metric("crawl_worker_sent_bytes_per_second", GAUGE, CONTROL, "Bytes a second that it sends", "worker")
WORKER_RATE = Metric("crawl_worker_pages_per_second", GAUGE, CONTROL, "Pages a second of a worker", "worker")
STORE_BYTES = Metric("crawl_store_bytes", GAUGE, CONTROL, "Size of the store on disk")
ARCHIVE_BYTES = Metric("crawl_archive_bytes", GAUGE, CONTROL, "Size of the archive")
INDEXED = Metric("search_pages_indexed", GAUGE, CONTROL, "Pages in the index of search")
INDEX_PENDING = Metric("search_pending_bytes", GAUGE, CONTROL, "Bytes of the archive that are not indexed yet")
DERIVED_PAGES = Metric("derivation_pages", GAUGE, CONTROL, "Pages that are derived, by derivation", "derivation")
DERIVATION_PENDING = Metric(
    "derivation_pending_bytes", GAUGE, CONTROL, "Lag: bytes of the archive that are not derived yet", "derivation"
)
DERIVATION_SKIPPED = Metric(
    "derivation_skipped_records", GAUGE, CONTROL, "Records that could not be derived and were skipped", "derivation"
)
STORE_UP = Metric("crawl_store_up", GAUGE, CONTROL, "1 where the store answered the last look; 0: its gauges are old")

# --- connections to the API -------------------------------------------------------------------------------------------

CONNECTIONS = Metric("api_connections", GAUGE, CONTROL, "Open connections to the API, streams too")
CONNECTIONS_REFUSED = Metric(
    "api_connections_refused_total",
    COUNTER,
    CONTROL,
    "Connections answered 503 because so many were at work: in all (all), or of their address (address)",
    "reason",
)
CONNECTIONS_CUT = Metric(
    "api_connections_cut_total",
    COUNTER,
    CONTROL,
    "Connections ended: too slow a request (head, body), an answer that nobody reads (unread), others need room (room)",
    "reason",
)

# --- live progress ----------------------------------------------------------------------------------------------------

LIVE_CLIENTS = Metric("crawl_live_clients", GAUGE, CONTROL, "Clients that watch a crawl")
LIVE_DROPPED = Metric("crawl_live_dropped_total", COUNTER, CONTROL, "Clients dropped because they did not read")
LIVE_READS = Metric("crawl_live_reads_total", COUNTER, CONTROL, "Reads of the store for progress, whatever the clients")

METRICS: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))


class Distribution:
    """The buckets of a histogram. Measured: 0.17 us a step, where prometheus_client takes 1.7 us."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    def cumulated(self) -> list[tuple[str, float]]:
        pairs, total = [], 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), list(self.counts), strict=True):
            total += count
            pairs.append((bound, float(total)))
        return pairs


class Meter(Collector):
    """The metrics of one process. Each metric is written by one thread; any thread may read them all."""

    def __init__(self, place: Place) -> None:
        self.metrics = tuple(metric for metric in METRICS if place in metric.places)
        # A metric without a label starts at 0, so that Prometheus sees its first step.
        self._values: dict[str, dict[str, float]] = {
            metric.name: {} if metric.label else {"": 0.0} for metric in self.metrics if metric.kind is not HISTOGRAM
        }
        self._distributions = {
            metric.name: Distribution(metric.buckets) for metric in self.metrics if metric.kind is HISTOGRAM
        }

    def distribution(self, metric: Metric) -> Distribution:
        return self._distributions[metric.name]

    def add(self, metric: Metric, amount: float = 1, label: str = "") -> None:
        values = self._values[metric.name]
        if label not in values and len(values) >= LABEL_VALUES_MAX:
            label = OTHER
        values[label] = values.get(label, 0.0) + amount

    def set(self, metric: Metric, value: float) -> None:
        self._values[metric.name][""] = value

    def replace(self, metric: Metric, values: Mapping[str, float]) -> None:
        """Set all series of a gauge at once: those not named disappear."""
        self._values[metric.name] = bounded(values)

    def value(self, metric: Metric, label: str = "") -> float:
        return self._values[metric.name].get(label, 0.0)

    def collect(self) -> Iterable[Family]:
        return (self._family(metric) for metric in self.metrics)

    def _family(self, metric: Metric) -> Family:
        if metric.kind is HISTOGRAM:
            found = self._distributions[metric.name]
            histogram = HistogramMetricFamily(metric.name, metric.help)
            histogram.add_metric([], found.cumulated(), found.sum)
            return histogram
        labels = [metric.label] if metric.label else []
        family = (CounterMetricFamily if metric.kind is COUNTER else GaugeMetricFamily)(
            metric.name, metric.help, labels=labels
        )
        for label, value in self._values[metric.name].copy().items():
            family.add_metric([label] if metric.label else [], value)
        return family


def bounded(values: Mapping[str, float]) -> dict[str, float]:
    """The first LABEL_VALUES_MAX series; the sum of the rest as one more."""
    pairs = list(values.items())
    kept = dict(pairs[:LABEL_VALUES_MAX])
    if rest := pairs[LABEL_VALUES_MAX:]:
        kept[OTHER] = kept.get(OTHER, 0.0) + sum(value for _, value in rest)
    return kept


def observe_upkeep(meter: Meter, done: Mapping[str, int], seconds: float) -> None:
    """Record one round of `Duty`; called by the thread that does it."""
    meter.add(RECONCILIATION_CYCLES)
    meter.add(COMPLETION_CHECKS)
    meter.add(STALE_RECOVERED, done.get("fenced", 0))
    meter.add(STALE_ROWS, done.get("fenced_urls", 0))
    meter.distribution(RECONCILIATION_DURATION).observe(seconds)


def registry_of(meter: Meter) -> CollectorRegistry:
    """A registry of the meter and of CPU seconds, memory and open files of this process."""
    registry = CollectorRegistry()
    registry.register(meter)
    ProcessCollector(registry=registry)
    return registry


def render(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """The page and its content type, in the format that the scraper asks for."""
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
