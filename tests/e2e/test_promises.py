"""Promises that only a whole crawl shows: what is found is asked for at once, known links, pace, load, robots.txt."""

import time
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nephila.frontier.store import Batch, Flushed, Frontier
from nephila.models import CrawlState, UrlState
from tests.command import Command
from tests.e2e.harness import Cluster, Places, run_here
from tests.patience import until
from tests.site.fixtures import html
from tests.site.names import A, NameServer
from tests.site.politeness import violations
from tests.site.server import Page, TestWeb

FLUSH_MS_MAX = 60_000
HOUR_SECONDS = 3600


@pytest.mark.requirement("F-29")
def test_what_is_found_is_asked_for_at_once(places: Places) -> None:
    """Each page leads to the next: if a result waited for its flush to be due, this would take half an hour."""
    chain: dict[str, Page] = {f"/{number}": html(f"/{number + 1}") for number in range(30)}
    with TestWeb() as web:
        web.add({"127.0.0.1": {**chain, "/30": html()}})
        place = places(more={"flush_ms": FLUSH_MS_MAX})
        crawl = place.start([web.url("/0")])
        run_here(place, crawl.id)
        assert len(place.rows(crawl.id)) == 31


@pytest.mark.requirement("R-20", "R-17")
def test_a_host_that_answers_500_rests_twice_as_long_each_time(places: Places) -> None:
    paths = [f"/{number}" for number in range(5)]
    rests = {"host.backoff_errors": 1, "host.backoff_base_ms": 100, "host.death_errors": 0}
    with TestWeb() as web:
        web.add({"127.0.0.1": {path: Page(status=500) for path in paths}})
        place = places()
        settings = rests | {"retry.max": 0, "robots.mode": "ignore", "polite.max_inflight": 1}
        crawl = place.start([web.url(path) for path in paths], settings)
        run_here(place, crawl.id)
        hits = web.hits()
        gaps = [(after.started - before.ended) * 1000 for before, after in pairwise(hits)]
        assert len(gaps) == 4
        assert all(gap >= wanted for gap, wanted in zip(gaps, (100, 200, 400, 800), strict=True)), gaps


class Watched:
    """A frontier that notes the URLs that are handed to it as children."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier
        self.handed: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)

    def flush(self, batch: Batch) -> Flushed:
        self.handed.update(child.url for outcome in batch.outcomes for child in outcome.children)
        return self._frontier.flush(batch)


@pytest.mark.requirement("D-06", "K30")
def test_links_that_are_known_reach_neither_the_store_nor_the_name_server(places: Places) -> None:
    """Every page links to all pages before it and to the same foreign hosts; only the first link to each counts."""
    with TestWeb() as web, NameServer() as names:
        paths = [f"/{number}" for number in range(12)]
        foreign = [web.url("/", f"h{number}.test") for number in range(5)]
        site = {path: html(*paths[: at + 2], *foreign) for at, path in enumerate(paths)}
        web.add({"root.test": site})
        for number, name in enumerate(["root.test", *(f"h{number}.test" for number in range(5))]):
            names.zone[name, A] = [(name, A, HOUR_SECONDS, f"127.0.0.{number + 1}")]
        place = places(more={"dns_servers": (names.address,)})
        watched: list[Watched] = []

        def watch(frontier: Frontier) -> Any:
            watched.append(Watched(frontier))
            return watched[-1]

        overrides = {"scope.max_depth": 20, "polite.max_inflight": 1}
        crawl = place.start([web.url("/0", "root.test")], overrides, profile="graph")
        run_here(place, crawl.id, wrap=watch)
        handed = watched[0].handed
        assert handed.keys() == {*(web.url(path, "root.test") for path in paths), *foreign}
        assert set(handed.values()) == {1}
        asked = Counter(name for name, kind in names.asked if kind == A)
        assert asked == {"root.test": 1} | {f"h{number}.test": 1 for number in range(5)}


@pytest.mark.requirement("PF-03", "P-08", "RB-01")
def test_a_hundred_pages_from_one_seed_at_one_request_a_second_per_domain(places: Places) -> None:
    """The profile of the jobs API with its own second; 33 domains, so that it takes only a few of them."""
    hosts = [f"127.0.2.{number}" for number in range(1, 34)]
    robots = Page(b"User-agent: *\nDisallow: /secret", content_type="text/plain")
    with TestWeb() as web:
        pages = [web.url(f"/{number}", host) for host in hosts for number in range(3)]
        secret = [web.url("/secret", host) for host in hosts]
        site = {"/0": html(*pages), "/1": html(*pages), "/2": html(), "/secret": html(), "/robots.txt": robots}
        web.add(
            {"127.0.0.1": {"/": html(*pages, *pages, *secret), "/robots.txt": robots}, **dict.fromkeys(hosts, site)}
        )
        place = places()
        delays = {"polite.floor_ms": 1000, "polite.max_inflight": 1, "scope.mode": "any"}
        crawl = place.start([web.url("/")], delays, profile="jobs")
        run_here(place, crawl.id)
        states = place.states(crawl.id)
        assert sorted(url for url, state in states.items() if state == UrlState.VISITED) == sorted(
            [*pages, web.url("/")]
        )
        assert {states[url] for url in secret} == {UrlState.EXCLUDED}
        hits = web.hits()
        assert set(Counter((hit.host, hit.path) for hit in hits).values()) == {1}
        assert not [hit for hit in hits if hit.path == "/secret"]
        assert violations(hits, 1000) == []


@pytest.mark.requirement("RB-06", "RB-02")
def test_the_rules_of_a_host_are_kept_with_it(places: Places) -> None:
    """The second crawl is another worker's: it finds the rules in the store and does not ask for them."""
    robots = Page(b"User-agent: *\nDisallow: /a*b$\n", content_type="text/plain")
    with TestWeb() as web:
        web.add({"127.0.0.1": {"/": html("/axb"), "/other": html("/ayb"), "/robots.txt": robots}})
        place = places()
        found = []
        for path in ("/", "/other"):
            crawl = place.start([web.url(path)])
            run_here(place, crawl.id)
            found.append([(str(row.state), row.reason) for row in place.rows(crawl.id)])
        assert found == [[("visited", ""), ("excluded", "robots")]] * 2
        assert [hit.path for hit in web.hits()] == ["/robots.txt", "/", "/other"]


@pytest.mark.slow
@pytest.mark.requirement("T-08")
def test_ten_thousand_urls_are_queued_and_five_workers_take_them(tmp_path: Path) -> None:
    """How fast depends on the machine: it is printed, and bench/ measures it. The first thousand pages are enough."""
    hosts = [f"127.3.{number // 200}.{number % 200 + 1}" for number in range(500)]
    with TestWeb() as web, ExitStack() as opened:
        web.add({host: {f"/{number}": html() for number in range(20)} for host in hosts})
        place = Places("postgres", tmp_path, opened)(5)
        seeds = [web.url(f"/{number}", host) for host in hosts for number in range(20)]
        with Cluster(place) as cluster:
            cluster.ready()
            crawl = place.start(seeds, {"robots.mode": "ignore"})
            begun = time.monotonic()
            catalog = place.store().catalog

            def pages() -> int:
                return catalog.tallies(crawl.id).get(UrlState.VISITED, 0)

            cluster.run_until(lambda: pages() >= 1000)
            print(f"{pages() / (time.monotonic() - begun):.0f} pages/s")
            assert catalog.tallies(crawl.id)["urls"] == 10_000
            cluster.run_until(lambda: all(worker.vitals.pages for worker in catalog.workers() if worker.alive))
        assert set(Counter((hit.host, hit.path) for hit in web.hits()).values()) == {1}
        assert catalog.check() == []


@pytest.mark.requirement("K25")
def test_a_worker_alone_does_the_upkeep_that_ends_a_crawl(tmp_path: Path) -> None:
    """No control plane, and the test does nothing but look: any process does what is due."""
    with TestWeb() as web, ExitStack() as opened:
        web.add({"127.0.0.1": {"/": html("/a"), "/a": html()}})
        place = Places("postgres", tmp_path, opened)()
        crawl = place.start([web.url("/")])
        process = Command(tmp_path / "worker", place.url).start("worker", "--workers", "1")
        try:
            until(lambda: place.store().catalog.crawl(crawl.id).state is CrawlState.COMPLETED)
        finally:
            process.terminate()
            process.communicate()
