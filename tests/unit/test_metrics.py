"""Metrics: what is declared, documented and recorded. As a script: writes the table of docs/observability.md."""

import ast
import random
import re
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from nephila import metrics
from nephila.clock import VirtualClock
from nephila.fetch.fetcher import FetchResult
from nephila.frontier.store import Batch, Flushed, Outcome, RobotsRecord, Row, SitemapEntry, Window
from nephila.metrics import METRICS, Distribution, Meter, Metric, MetricKind, Place
from nephila.models import ArchivePlace, Child, Handshake, Kind, PageRecord, Reason, Timing, UrlState
from nephila.worker.metering import LOADED_MAX, Metering, headers_ms, processing_ms, serve_metrics
from nephila.worker.pending import Cut
from nephila.worker.visit import Ending
from tests.patience import PATIENCE_SECONDS

OBSERVABILITY = Path(__file__).parents[2] / "docs" / "observability.md"
SRC = Path(__file__).parents[2] / "src" / "nephila"
LOG_METHODS = ("info", "_info", "warning", "error", "exception", "log", "say", "warn", "Notice")
BEGIN, END = "<!-- begin metrics -->", "<!-- end metrics -->"

# requirements.md 1.20
REQUIRED = {
    "M-01": ["crawl_fetch_duration_seconds"],
    "M-02": ["crawl_processing_duration_seconds"],
    "M-03": ["crawl_queue_latency_seconds", "crawl_queue_age_seconds"],
    "M-04": ["crawl_urls_retried_total", "crawl_urls_failed_total", "crawl_urls_visited_total"],
    "M-05": ["crawl_stale_claims_recovered_total", "crawl_stale_urls_recovered_total"],
    "M-06": ["crawl_queue_reconciliation_cycles_total", "crawl_queue_reconciliation_enqueued_total"],
    "M-07": ["crawl_reconciliation_cycle_duration_seconds"],
    "M-08": ["processed_urls_total"],
    "M-09": [
        "crawl_runs_started_total",
        "crawl_runs_completed_total",
        "crawl_urls_discovered_total",
        "crawl_urls_requeued_total",
        "crawl_completion_checks_total",
        "crawl_urls_queued_gauge",
        "crawl_urls_in_progress_gauge",
        "crawl_urls_failed_gauge",
    ],
    "M-11": [
        "crawl_responses_total",
        "crawl_fetch_errors_total",
        "crawl_robots_total",
        "crawl_urls_gauge",
        "crawl_store_bytes",
        "crawl_archive_bytes",
        "crawl_worker_cpu_cores",
        "crawl_worker_memory_bytes",
        "crawl_queue_age_seconds",
        "crawl_urls_ended_reasons_total",
        "crawl_robots_failures_total",
    ],
    "M-16": [
        "crawl_urls_queued_gauge",
        "crawl_hosts_held",
        "crawl_hosts_dead_total",
        "crawl_rate_limited_total",
        "crawl_fetch_errors_total",
        "crawl_robots_blocked_total",
        "crawl_archived_responses_total",
        "crawl_archived_bytes_total",
        "crawl_dns_duration_seconds",
        "crawl_connect_duration_seconds",
        "crawl_tls_duration_seconds",
        "crawl_first_byte_duration_seconds",
    ],
}


def label_of(metric: Metric) -> str:
    return f"`{metric.label}`" if metric.label else ""


def documented() -> str:
    rows = [
        f"| `{metric.name}` | {metric.kind} | {', '.join(metric.places)} | {label_of(metric)} | {metric.help} |"
        for metric in METRICS
    ]
    return "\n".join(["| metric | kind | told by | label | what it is |", "|---|---|---|---|---|", *rows])


def expected(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{documented()}\n{END}{rest.partition(END)[2]}"


def logged_events() -> set[str]:
    """The first argument of every call that writes a log line."""
    calls = (node for path in SRC.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())))
    return {
        call.args[0].value
        for call in calls
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute | ast.Name)
        and (call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id) in LOG_METHODS
        and call.args
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


def sample(meter: Meter, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(meter)
    return registry.get_sample_value(name, labels)


# --- what is declared


@pytest.mark.parametrize(
    ("name", "id"),
    [pytest.param(name, id, marks=pytest.mark.requirement(id)) for id, names in REQUIRED.items() for name in names],
)
def test_every_required_metric_is_declared_and_told(name: str, id: str) -> None:
    metric = next(metric for metric in METRICS if metric.name == name)
    meter = Meter(metric.places[0])
    if metric.label:
        meter.add(metric, 1, "x")
    page, _ = metrics.render(metrics.registry_of(meter), "")
    assert f"# HELP {name} {metric.help}\n# TYPE {name} {metric.kind}\n{name}" in page.decode(), id


def test_the_table_of_metrics_is_that_of_the_code() -> None:
    text = OBSERVABILITY.read_text()
    assert text == expected(text), (
        f"write docs/observability.md anew (python tests/unit/test_metrics.py): {documented()}"
    )


@pytest.mark.requirement("LG-03")
def test_every_event_of_the_log_is_documented_once() -> None:
    section = OBSERVABILITY.read_text().partition("\n## Logs\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == sorted(logged_events())


GUIDE = {  # what is seen, and what the answer must speak of
    "fetch p95 up, processing flat": ("network", "crawl_fetch_errors_total"),
    "retries up": ("unstable", "crawl_responses_total"),
    "`crawl_queue_reconciliation_enqueued_total` grows much faster than `processed_urls_total`": (
        "starvation",
        "crawl_workers_alive",
    ),
    "`crawl_stale_claims_recovered_total` jumps after a deployment": ("workers were killed", "SIGTERM"),
}


@pytest.mark.requirement("M-14")
def test_the_guide_says_what_each_symptom_means_and_names_only_metrics_that_exist() -> None:
    section = OBSERVABILITY.read_text().partition("\n## What is wrong?\n")[2].partition("\n## ")[0]
    rows = dict(line.strip("| ").split(" | ", 1) for line in section.splitlines() if line.startswith("| "))
    for seen, words in GUIDE.items():
        assert all(word in rows[seen] for word in words), seen
    named = set(re.findall(r"`((?:crawl|processed|process|search)_\w+)`", section))
    known = {metric.name for metric in METRICS}
    assert {name for name in named if not name.startswith("process_")} <= known
    assert named


def test_names_are_unique_and_say_their_kind() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert {metric.name for metric in METRICS if metric.name.endswith("_total")} == {
        metric.name for metric in METRICS if metric.kind is MetricKind.COUNTER
    }
    assert all(metric.help and not metric.help.endswith(".") and metric.places for metric in METRICS)
    assert all(bool(metric.buckets) is (metric.kind is MetricKind.HISTOGRAM) for metric in METRICS)


# --- how values are kept


def test_a_distribution_is_what_prometheus_makes_of_the_same_values() -> None:
    values = [random.Random(7).expovariate(1.0) for _ in range(500)] + [0.0, 0.005, 0.25, 30.0, 31.0]
    bounds = metrics.REQUEST_SECONDS
    registry = CollectorRegistry()
    theirs, ours = Histogram("h", "h", registry=registry, buckets=bounds), Distribution(bounds)
    for value in values:
        theirs.observe(value)
        ours.observe(value)
    for bound, count in ours.cumulated():
        assert registry.get_sample_value("h_bucket", {"le": bound}) == count
    assert registry.get_sample_value("h_sum") == pytest.approx(ours.sum)
    assert ours.cumulated()[-1] == ("+Inf", len(values))


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_a_page_can_be_read_by_prometheus(place: Place, accept: str) -> None:
    meter = Meter(place)
    page, content_type = metrics.render(metrics.registry_of(meter), accept)
    assert content_type.startswith(accept.partition(";")[0] or "text/plain")
    found = {family.name for family in text_string_to_metric_families(page.decode().replace("# EOF\n", ""))}
    assert {metric.name.removesuffix("_total") for metric in meter.metrics} <= {
        name.removesuffix("_total") for name in found
    }


def test_a_metric_without_a_label_starts_at_zero() -> None:
    assert sample(Meter(Place.WORKER), "crawl_urls_visited_total") == 0
    assert sample(Meter(Place.WORKER), "crawl_responses_total", **{"class": "2xx"}) is None


def test_the_series_of_a_metric_are_bounded() -> None:
    meter, many = Meter(Place.CONTROL), metrics.LABEL_VALUES_MAX + 50
    for number in range(many):
        meter.add(metrics.RUNS, 1, str(number))
    assert meter.value(metrics.RUNS, metrics.OTHER) == 50
    meter.replace(metrics.RUNS, {str(number): 2.0 for number in range(many)})
    assert meter.value(metrics.RUNS, metrics.OTHER) == 100
    assert len(meter._values[metrics.RUNS.name]) == metrics.LABEL_VALUES_MAX + 1
    meter.replace(metrics.RUNS, {})
    assert meter._values[metrics.RUNS.name] == {}


@pytest.mark.requirement("M-05", "M-06", "M-07", "M-09", "RC-10")
def test_a_round_of_upkeep_is_counted() -> None:
    meter = Meter(Place.CONTROL)
    metrics.observe_upkeep(meter, {"fenced": 2, "fenced_urls": 7, "ended": 1, "limited": 0}, 0.004)
    metrics.observe_upkeep(meter, {"fenced": 0, "ended": 0, "limited": 0}, 0.004)
    assert (meter.value(metrics.STALE_RECOVERED), meter.value(metrics.STALE_ROWS)) == (2, 7)
    assert meter.value(metrics.RECONCILIATION_CYCLES) == meter.value(metrics.COMPLETION_CHECKS) == 2
    assert sample(meter, "crawl_reconciliation_cycle_duration_seconds_count") == 2


@pytest.mark.requirement("M-10")
def test_a_worker_serves_its_metrics_on_a_port_of_its_own() -> None:
    meter = Meter(Place.WORKER)
    meter.add(metrics.VISITED, 3)
    port = serve_metrics(meter, "127.0.0.1", 0, 0)
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS) as answer:
        page = answer.read().decode()
    assert "crawl_urls_visited_total 3.0" in page
    assert "process_cpu_seconds_total" in page and "process_resident_memory_bytes" in page


@pytest.mark.requirement("M-10", "M-15")
def test_every_slot_has_its_port_and_a_taken_one_costs_only_the_metrics() -> None:
    meter = Meter(Place.WORKER)
    taken = serve_metrics(meter, "127.0.0.1", 0, 0)
    assert taken is not None
    assert serve_metrics(meter, "127.0.0.1", taken - 3, 3) is None
    assert serve_metrics(meter, "127.0.0.1", 65_535, 1) is None
    assert serve_metrics(meter, "127.0.0.1", None, 0) is None
    assert serve_metrics(meter, "127.0.0.1", 0, 0)


# --- what a worker records


@pytest.fixture
def metering(clock: VirtualClock) -> Metering:
    return Metering(Meter(Place.WORKER), clock)


def answered(status: int | None = 200, error: Reason = Reason.NONE) -> FetchResult:
    timing = Timing(dns_ms=10, connect_ms=20, tls_ms=30, first_byte_ms=40, total_ms=500)
    return FetchResult(
        "http://a.test/", 0, status, "http/1.1", b"h" * 30, b"b" * 100, b"r" * 7, timing=timing, error=error
    )


def finished(
    url_id: int, state: UrlState, page: PageRecord | None, children: int = 0, reason: str = ""
) -> tuple[Any, Ending]:
    child = Child(1, "a.test", b"", "http://a.test/", 1, 1, None, None)
    return None, Ending(Outcome(url_id, 1, state, reason, 1, page, [child] * children))


def cut_of(*done: tuple[Any, Ending], retried: tuple[int, ...] = (), batch: Batch | None = None) -> Cut:
    queue: Any = None
    return Cut(batch or Batch(1), list(done), [(queue, url_id) for url_id in retried], [])


def window(*ids: int) -> Window:
    return Window(1, 1, "a.test", [Row(url_id, "http://a.test/", 0, Kind.PAGE, 0, 0, 0, None) for url_id in ids])


@pytest.mark.requirement("M-01", "M-11")
@pytest.mark.parametrize(
    ("result", "metric", "label"),
    [
        (answered(200), metrics.RESPONSES, "2xx"),
        (answered(301), metrics.RESPONSES, "3xx"),
        (answered(404), metrics.RESPONSES, "4xx"),
        (answered(503), metrics.RESPONSES, "5xx"),
        (answered(999), metrics.RESPONSES, metrics.OTHER),
        (answered(None, Reason.TIMEOUT), metrics.FETCH_ERRORS, "timeout"),
        (answered(None, Reason.DNS), metrics.FETCH_ERRORS, "dns"),
    ],
)
def test_a_request_is_counted_by_its_answer(
    metering: Metering, result: FetchResult, metric: Metric, label: str
) -> None:
    metering.fetched(result)
    meter, heard = metering.meter, result.status is not None
    assert meter.value(metric, label) == 1
    assert meter.value(metrics.SENT_BYTES) == 7
    assert meter.value(metrics.RECEIVED_BYTES) == (130 if heard else 0)
    assert sample(meter, "crawl_fetch_duration_seconds_count") == heard
    assert sample(meter, "crawl_fetch_duration_seconds_sum") == pytest.approx(0.1 if heard else 0)


@pytest.mark.requirement("M-04", "M-08", "M-09", "M-11")
def test_a_flush_counts_what_it_committed(metering: Metering) -> None:
    robots = RobotsRecord("http://a.test", "a.test", "hold", None, b"", 1)
    batch = Batch(1, robots=[robots], in_flight=[(8, 0), (9, 0)])
    page = PageRecord(status=200)
    done = (
        finished(1, UrlState.VISITED, page, children=3),
        finished(2, UrlState.VISITED, page, children=2),
        finished(3, UrlState.FAILED, PageRecord()),
        finished(4, UrlState.EXCLUDED, None),
    )
    metering.flushed(cut_of(*done, retried=(5, 6), batch=batch), Flushed(refused_outcomes=1), 0.02)
    meter = metering.meter
    counted = {
        metrics.VISITED: 2,
        metrics.FAILED: 1,
        metrics.RETRIED: 2,
        metrics.PROCESSED: 6,
        metrics.DISCOVERED: 5,
        metrics.FETCHING: 2,
        metrics.REFUSED: 1,
    }
    assert {metric: meter.value(metric) for metric in counted} == counted
    assert meter.value(metrics.ENDED, "excluded") == 1
    assert meter.value(metrics.ROBOTS, "hold") == 1
    assert sample(meter, "crawl_flush_duration_seconds_sum") == pytest.approx(0.02)


def test_sitemaps_are_counted_by_result_and_what_they_list_apart_from_links(metering: Metering) -> None:
    def ended(state: UrlState, told: dict[str, object] | None = None) -> tuple[Any, Ending]:
        facts: dict[str, object] = {"sitemap": told} if told is not None else {}
        done = finished(1, state, PageRecord(status=200, facts=facts), children=2)
        done[1].outcome.kind = Kind.SITEMAP
        return done

    entry = SitemapEntry(1, "a.test", b"", 1, None, None, None)
    done = (
        ended(UrlState.VISITED, {"format": "urlset", "entries": 2, "admitted": 2}),
        ended(UrlState.VISITED, {"format": "urlset", "problem": "too_many: more than 50,000 URLs"}),
        ended(UrlState.VISITED, {"problem": "not_sitemap: it is HTML: a page"}),
        ended(UrlState.NOT_FOUND),
        finished(2, UrlState.VISITED, PageRecord(status=200), children=5),
    )
    metering.flushed(cut_of(*done, batch=Batch(1, entries=[entry] * 3)), Flushed(), 0.02)
    meter = metering.meter
    for result in ("ok", "too_many", "not_sitemap", "not_found"):
        assert meter.value(metrics.SITEMAPS, result) == 1, result
    assert sum(meter._values[metrics.SITEMAPS.name].values()) == 4
    assert (meter.value(metrics.SITEMAP_ENTRIES), meter.value(metrics.DISCOVERED)) == (3, 5)


@pytest.mark.requirement("M-16")
def test_a_request_is_timed_by_its_phases(metering: Metering) -> None:
    metering.fetched(answered(200))
    again = answered(429)
    again.timing = Timing(first_byte_ms=60, total_ms=61)  # over the connection that is open
    metering.fetched(again)
    phases = {"dns": (1, 0.01), "connect": (1, 0.02), "tls": (1, 0.03), "first_byte": (2, 0.1)}
    for phase, (count, seconds) in phases.items():
        assert sample(metering.meter, f"crawl_{phase}_duration_seconds_count") == count, phase
        assert sample(metering.meter, f"crawl_{phase}_duration_seconds_sum") == pytest.approx(seconds), phase
    assert metering.meter.value(metrics.RATE_LIMITED) == 1


def test_handshakes_are_counted_by_kind_whatever_came_of_the_request(metering: Metering) -> None:
    for handshake, status in ((Handshake.FULL, 200), (Handshake.RESUMED, None), (Handshake.NONE, 200)):
        result = answered(status, Reason.NONE if status else Reason.TIMEOUT)
        result.handshake = handshake
        metering.fetched(result)
    counted = [metering.meter.value(metrics.TLS_HANDSHAKES, kind) for kind in ("full", "resumed", "unknown", "")]
    assert counted == [1, 1, 0, 0]


@pytest.mark.requirement("M-11", "M-16", "RB-05")
def test_ends_are_counted_by_reason_and_by_what_was_archived(metering: Metering) -> None:
    stored = PageRecord(status=200, archive=ArchivePlace("a.warc.gz", 0, 300))
    done = (
        finished(1, UrlState.VISITED, stored),
        finished(2, UrlState.VISITED, PageRecord(status=200, archive=ArchivePlace("a.warc.gz", 300, 50))),
        finished(3, UrlState.FAILED, PageRecord(), reason=Reason.TIMEOUT),
        finished(4, UrlState.EXCLUDED, None, reason=Reason.ROBOTS),
        finished(5, UrlState.EXCLUDED, None, reason=Reason.ROBOTS_UNREACHABLE),
        finished(6, UrlState.EXCLUDED, None, reason=Reason.ROBOTS),
    )
    batch = Batch(1, deaths=[(7, Reason.HOST_DEAD), (8, Reason.HOST_DEAD), (9, Reason.LIMIT_HOST)])
    metering.flushed(cut_of(*done, batch=batch), Flushed(), 0.01, hosts=12)
    meter = metering.meter
    assert meter._values["crawl_urls_ended_reasons_total"] == {"timeout": 1, "robots": 2, "robots_unreachable": 1}
    assert meter._values["crawl_robots_blocked_total"] == {"robots": 2, "robots_unreachable": 1}
    assert meter._values["crawl_hosts_dead_total"] == {"host_dead": 2, "limit_host": 1}
    assert (meter.value(metrics.ARCHIVED_RECORDS), meter.value(metrics.ARCHIVED_BYTES)) == (2, 350)
    assert meter.value(metrics.HOSTS_HELD) == 12


@pytest.mark.requirement("M-02", "M-03")
def test_a_page_waits_from_its_loading_and_is_worked_on_from_its_headers(
    metering: Metering, clock: VirtualClock
) -> None:
    metering.flushed(cut_of(), Flushed(windows=[window(1, 2)]), 0)
    clock.advance(3000)
    page = PageRecord(status=200, fetched_at=clock.now_ms(), timing=Timing(connect_ms=100, first_byte_ms=400))
    clock.advance(2000)
    metering.flushed(cut_of(finished(1, UrlState.VISITED, page)), Flushed(refills=[window(1, 2, 3)]), 0)
    assert sample(metering.meter, "crawl_queue_latency_seconds_sum") == pytest.approx(3.0)
    assert sample(metering.meter, "crawl_processing_duration_seconds_sum") == pytest.approx(1.5)


@pytest.mark.requirement("M-06")
def test_rows_that_are_held_already_are_not_counted_again(metering: Metering) -> None:
    metering.flushed(cut_of(), Flushed(windows=[window(1, 2)]), 0)
    metering.flushed(cut_of(), Flushed(refills=[window(1, 2, 3)]), 0)
    assert metering.meter.value(metrics.RECONCILED) == 3


def test_rows_that_never_come_back_are_forgotten(metering: Metering) -> None:
    metering.flushed(cut_of(), Flushed(windows=[window(*range(LOADED_MAX + 1))]), 0)
    assert metering._loaded == {}


def test_a_clock_that_was_set_back_makes_no_negative_time(metering: Metering, clock: VirtualClock) -> None:
    page = PageRecord(status=200, fetched_at=clock.now_ms() + 60_000)
    assert processing_ms(page, clock.now_ms()) == 0.0
    assert headers_ms(Timing(1, 2, 3, 4, 99)) == 10


@pytest.mark.requirement("M-05", "M-09", "RC-10")
def test_take_overs_and_cut_off_visits_are_counted(metering: Metering) -> None:
    metering.requeued()
    metering.recovered(2, 7)
    metering.fenced()
    meter = metering.meter
    counted = (metrics.REQUEUED, metrics.STALE_RECOVERED, metrics.STALE_ROWS, metrics.FENCED)
    assert [meter.value(metric) for metric in counted] == [1, 2, 7, 1]


def test_what_prometheus_renders_is_what_was_added() -> None:
    meter = Meter(Place.WORKER)
    meter.add(metrics.RESPONSES, 2, "2xx")
    registry = CollectorRegistry()
    registry.register(meter)
    assert 'crawl_responses_total{class="2xx"} 2.0' in generate_latest(registry).decode()


if __name__ == "__main__":
    OBSERVABILITY.write_text(expected(OBSERVABILITY.read_text()))
