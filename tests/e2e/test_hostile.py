"""Cheap pages that cost much, beside a good site: who waits for whom, how much waits, and that a crawl still ends."""

import gzip
from pathlib import Path

from nephila.models import CrawlState, Reason
from nephila.worker.scheduler import UNREAD_MAX
from tests.e2e.harness import Cluster, Places, run_here
from tests.site.fixtures import html
from tests.site.server import Page, TestWeb

GOOD = "127.0.0.100"
GOOD_PAGES = 300
HOSTILE = [f"127.0.0.{number}" for number in range(2, 10)]
HOSTILE_PAGES = 100
BOMB = Page(gzip.compress(b"<" * 16_700_000, 9), headers=(("Content-Encoding", "gzip"),))  # 16 KB; 0.5 s of a parser
UNCOMMITTED_MAX = 25  # asked for, or read and not yet committed
# A worker has some 70 MB. All bodies that may wait here have 4 MB as they came, 500 MB with their codings undone.
WORKER_BYTES_MAX = 300 << 20


def peak_bytes(pid: int) -> int:
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_hosts_with_costly_pages_wait_for_themselves(places: Places) -> None:
    with TestWeb() as web:
        links = [f"/{number}" for number in range(1, GOOD_PAGES)]
        web.add({GOOD: {"/": html(*links)} | {link: html() for link in links}})
        paths = [f"/{number}" for number in range(HOSTILE_PAGES)]
        web.add({host: dict.fromkeys(paths, BOMB) for host in HOSTILE})
        place = places(more={"parsers": 1})
        seeds = [web.url(path, host) for path in paths for host in HOSTILE] + [web.url("/", GOOD)]
        crawl = place.start(seeds, {"robots.mode": "ignore"})
        catalog = place.store().catalog

        def hosts_visited(host: str) -> int:
            return sum(row.state == "visited" and row.host == host for row in place.rows(crawl.id))

        with Cluster(place) as cluster:
            cluster.run_until(lambda: hosts_visited(GOOD) == GOOD_PAGES)
            asked = {host: sum(hit.host == host for hit in web.hits()) for host in HOSTILE}
            read = {host: hosts_visited(host) for host in HOSTILE}
            assert sum(read.values()) < len(HOSTILE) * HOSTILE_PAGES, "the good site did not wait for them"
            assert max(asked[host] - read[host] for host in HOSTILE) <= UNREAD_MAX + UNCOMMITTED_MAX
            assert peak_bytes(cluster.supervisor.pids[0]) < WORKER_BYTES_MAX
            catalog.steer(crawl.id, CrawlState.ENDING, Reason.CANCELLED)
            assert cluster.run_crawl(crawl.id).state is CrawlState.CANCELLED
        rows = [row for row in place.rows(crawl.id) if row.host in HOSTILE]
        was_asked = {(hit.host, hit.path) for hit in web.hits()}
        unread = [
            row
            for row in rows
            if row.reason == Reason.CANCELLED and (row.host, f"/{row.url.rsplit('/')[-1]}") in was_asked
        ]
        assert unread, "what waited for a helper was let go"
        assert catalog.check() == []


def test_a_limit_on_time_waits_for_no_host(places: Places) -> None:
    with TestWeb() as web:
        web.add({GOOD: {"/": html()}})
        web.hold()
        place = places()
        crawl = place.start([web.url("/", GOOD)], {"limits.max_seconds": 1, "robots.mode": "ignore"})
        ended = run_here(place, crawl.id)
        assert ended.limited_by == "max_seconds" and web.holding, "nothing was answered"
        assert [(str(row.state), row.reason) for row in place.rows(crawl.id)] == [("excluded", "limit_time")]
        assert place.store().catalog.check() == []
