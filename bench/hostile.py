"""Good hosts beside hostile ones: python -m bench.hostile [--rounds 3]

The speed of good hosts alone and beside as many hosts whose pages cost much and take little to send, in turns, on one
worker. All have the same delay, and alone the good ones use some third of the worker.
"""

import argparse
import gzip
import statistics
import tempfile
import time
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from tests.e2e.harness import Cluster, Place
from tests.site.server import Page, Request, TestWeb

from bench.crawl import WORK, ratio, row
from bench.processes import own_cpu_seconds, peak_rss_mib

HOSTS = 50  # of each kind
GOOD_PAGES = 40  # of each host
HOSTILE_PAGES = 200  # more than are read in time
TARGET = 0.8
SETTINGS = {"robots.mode": "ignore", "polite.max_inflight": 1, "polite.floor_ms": 200}
WORDS = "".join(f'<p class="words">Some words about {word} and a <b>few</b> others.</p>\n' for word in range(450))
# By host in turns. Larger than they look, slow for their size, and both.
HOSTILE = [
    gzip.compress(b"<" * 16_700_000, 9),
    gzip.compress(b"<svg>" * 3_000_000, 9),
    gzip.compress(b"< " * 32_000, 9),
    gzip.compress(b"<a href=?>" * 1_500_000, 9),
]


by_rate, by_cpu = attrgetter("rate"), attrgetter("cpu_us")


class Asked:
    """When the good pages were asked for."""

    def __init__(self) -> None:
        self.first, self.last, self.pages = 0.0, 0.0, 0

    def answer(self, request: Request) -> Page:
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.pages += 1
        links = "".join(f"<a href=/{page}>page {page}</a>\n" for page in range(GOOD_PAGES))
        return Page(f"<!doctype html><title>{request.path}</title>{WORDS}{links}".encode())


@dataclass(frozen=True, slots=True)
class Result:
    rate: float  # good pages a second
    cpu_us: float  # of the worker, per good page
    rss_mib: int


def crawl(*, beside: bool) -> Result:
    """Crawl the good hosts, until the last of their pages is asked for."""
    asked, bombs = Asked(), [Page(body, headers=(("Content-Encoding", "gzip"),)) for body in HOSTILE]
    with TestWeb() as web, tempfile.TemporaryDirectory(dir=WORK) as folder:
        good, hostile = ([f"127.0.{kind}.{number}" for number in range(1, HOSTS + 1)] for kind in (1, 2))
        paths = [f"/{page}" for page in range(HOSTILE_PAGES)]
        web.add({host: dict.fromkeys(paths[:GOOD_PAGES], asked.answer) for host in good})
        web.add({host: dict.fromkeys(paths, bombs[number % len(bombs)]) for number, host in enumerate(hostile)})
        place = Place(Path(folder))
        seeds = [web.url(path, host) for path in paths for host in hostile] if beside else []
        place.start([web.url("/0", host) for host in good] + seeds, SETTINGS)
        with Cluster(place) as cluster:
            cluster.run_until(lambda: asked.pages > 0)
            worker = cluster.supervisor.pids[0]
            began = own_cpu_seconds(worker)
            cluster.run_until(lambda: asked.pages == HOSTS * GOOD_PAGES)
            cpu = own_cpu_seconds(worker) - began
            peak = peak_rss_mib(worker)
        place.close()
    seconds = asked.last - asked.first
    return Result(asked.pages / seconds, cpu / asked.pages * 1e6, peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    WORK.mkdir(exist_ok=True)
    alone, beside = [], []
    for _ in range(rounds):
        alone.append(crawl(beside=False))
        beside.append(crawl(beside=True))
    rates, cpus = (
        [statistics.median(pick(one) for one in runs) for runs in (beside, alone)] for pick in (by_rate, by_cpu)
    )
    print("| what | target | result |\n|---|---|---|")
    what = f"{HOSTS} good hosts beside {HOSTS} hostile ones against alone ({rounds} rounds each, medians)"
    ratio(what, f"{TARGET} x", *rates)
    found = f"**{cpus[1] / cpus[0]:.2f} x** ({cpus[1]:.0f} against {cpus[0]:.0f} us)"
    row("CPU of the worker per good page, alone over beside them", f"{TARGET} x", found)
    row("peak memory of the worker beside them", "400 MB", f"{max(one.rss_mib for one in beside)} MiB")


if __name__ == "__main__":
    main()
