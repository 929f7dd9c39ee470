"""What a worker tells of a crawl while it runs: its log lines and its metrics."""

import io
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from nephila import log
from nephila.clock import SystemClock
from nephila.metrics import Meter, Place
from nephila.models import UrlState
from nephila.settings import LogFormat, LogLevel
from nephila.worker.metering import Metering
from tests.e2e.harness import QUICK, Cluster, Places, run_here
from tests.site.fixtures import html
from tests.site.graphs import generate
from tests.site.nginx import own_address
from tests.site.server import Page, Sites, TestWeb

METRICS = (own_address(), 9100)  # no other process listens there, and none sends from there


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The log of this process as JSON."""
    stream = io.StringIO()
    log.configure(LogLevel.INFO, LogFormat.JSON, stream)
    yield stream
    log.configure(LogLevel.WARNING, LogFormat.CONSOLE, None)


class Observed:
    def __init__(self, places: Places, sites: Sites, lines: io.StringIO, **overrides: object) -> None:
        metering = Metering(Meter(Place.WORKER), SystemClock())
        with TestWeb() as web:
            web.add(sites)
            place = places()
            crawl = place.start([web.url("/")], QUICK | overrides)
            run_here(place, crawl.id, metering=metering)
            self.states = {row.url.removeprefix(web.url("")): row.state for row in place.rows(crawl.id)}
            self.asked = [hit.path for hit in web.hits()]
            self.errors = place.store().catalog.errors(100)
        log.flush()
        self.values = metering.meter._values
        self.distributions = metering.meter._distributions
        self.events = [json.loads(line) for line in lines.getvalue().splitlines()]

    def said(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.events if line["event"] == event]


@pytest.mark.requirement("RB-05", "M-16")
def test_a_url_that_robots_txt_forbids_is_seen_in_the_log_and_in_a_metric(places: Places, lines: io.StringIO) -> None:
    robots = Page(b"User-agent: *\nDisallow: /private", content_type="text/plain")
    seen = Observed(places, {"127.0.0.1": {"/": html("/private/x"), "/robots.txt": robots}}, lines)
    assert seen.states["/private/x"] is UrlState.EXCLUDED and "/private/x" not in seen.asked
    (line,) = seen.said("url_blocked")
    assert (line["url"].endswith("/private/x"), line["reason"], line["level"]) == (True, "robots", "info")
    assert {"workerId", "crawl", "url_id"} <= line.keys()
    assert seen.values["crawl_robots_blocked_total"] == {"robots": 1}


@pytest.mark.requirement("RB-03", "RB-08", "M-11")
@pytest.mark.parametrize(
    ("robots", "reason", "word"), [(Page(status=503), "http_5xx", "503"), (Page(raw=b""), "reset", "")]
)
def test_a_robots_txt_that_cannot_be_had_is_logged_and_counted_and_allows(
    robots: Page, reason: str, word: str, places: Places, lines: io.StringIO
) -> None:
    sites: Sites = {"127.0.0.1": {"/": html("/a"), "/a": html(), "/robots.txt": robots}}
    seen = Observed(places, sites, lines, **{"robots.on_error": "allow"})
    assert seen.states == {"/": UrlState.VISITED, "/a": UrlState.VISITED}
    (line,) = seen.said("robots_failed")
    assert (line["host"], line["reason"], word in line["error"]) == ("127.0.0.1", reason, True)
    assert seen.values["crawl_robots_failures_total"] == {reason: 1}


@pytest.mark.requirement("LG-03")
def test_visits_are_logged_with_the_fields_of_document_004(places: Places, lines: io.StringIO) -> None:
    sites: Sites = {"127.0.0.1": {"/": html("/torn", "/b"), "/b": html(), "/torn": Page(raw=b"")}}
    seen = Observed(places, sites, lines, **{"retry.max": 1})
    crawled = next(line for line in seen.said("url_crawled") if line["linksFound"] == 2)
    assert (crawled["statusCode"], crawled["level"], crawled["duration"] > 0) == (200, "info", True)
    assert {"url", "workerId"} <= crawled.keys()
    (failed,) = seen.said("crawl_failed")
    assert (failed["url"].endswith("/torn"), failed["retryCount"], bool(failed["error"])) == (True, 1, True)


@pytest.mark.requirement("AD-06")
def test_the_list_of_errors_says_the_cause_of_every_try(places: Places, lines: io.StringIO) -> None:
    sites: Sites = {"127.0.0.1": {"/": html("/down", "/torn"), "/down": Page(status=503), "/torn": Page(raw=b"")}}
    seen = Observed(places, sites, lines, **{"retry.max": 1})
    causes = [(error.url.rpartition("/")[2], error.reason, error.detail) for error in reversed(seen.errors)]
    assert [cause for cause in causes if cause[0] == "down"] == [("down", "http_5xx", "status 503")] * 2
    torn = [cause for cause in causes if cause[0] == "torn"]
    assert len(torn) == 2 and all(reason == "reset" and detail for _, reason, detail in torn)


@pytest.mark.requirement("M-16")
def test_archive_phases_and_rate_limits_are_measured(places: Places, lines: io.StringIO) -> None:
    sites: Sites = {"127.0.0.1": {"/": html("/busy"), "/busy": Page(status=429)}}
    seen = Observed(places, sites, lines, **{"retry.max": 0})
    assert seen.values["crawl_archived_responses_total"][""] >= 1
    assert seen.values["crawl_archived_bytes_total"][""] > 100
    assert seen.values["crawl_rate_limited_total"][""] >= 1
    counts = {name: sum(found.counts) for name, found in seen.distributions.items()}
    assert counts["crawl_first_byte_duration_seconds"] == counts["crawl_fetch_duration_seconds"] >= 3
    assert 1 <= counts["crawl_connect_duration_seconds"] <= counts["crawl_fetch_duration_seconds"]
    assert counts["crawl_tls_duration_seconds"] == 0


@pytest.mark.requirement("M-10", "M-11", "M-15", "M-16")
def test_every_worker_process_serves_its_metrics_at_its_own_port(places: Places) -> None:
    with TestWeb() as web:
        graph = generate(42424, 120, web.port, hosts=4)
        web.add(graph.sites)
        place = places(workers=2, more={"metrics_host": METRICS[0], "metrics_port": METRICS[1]})
        crawl = place.start(list(graph.seeds), graph.settings)
        with Cluster(place) as cluster:
            cluster.ready()
            cluster.run_crawl(crawl.id)
            ended = Counter(place.states(crawl.id).values())
            assert ended["visited"] > 2 and ended["not_found"] > 0
            # Each worker counts just after its commit, and the last one may have nothing but errors.
            cluster.run_until(lambda: summed("crawl_urls_visited_total") == ended["visited"])
            cluster.run_until(lambda: summed('crawl_urls_ended_total{state="not_found"}') == ended["not_found"])
            assert summed("crawl_first_byte_duration_seconds_count") >= ended["visited"] + ended["not_found"]
            assert all(scraped(slot)["process_resident_memory_bytes"] > 0 for slot in range(2))


def summed(name: str) -> float:
    return sum(scraped(slot).get(name, 0.0) for slot in range(2))


def scraped(slot: int) -> dict[str, float]:
    address, port = METRICS
    with urlopen(f"http://{address}:{port + slot}/metrics") as answer:
        lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
