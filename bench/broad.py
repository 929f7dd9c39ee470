"""Thousands of TLS hosts with latency: python -m bench.broad [--only h2000,h2000-fast]

One worker on one core, profile `broad` as it is, crawls hosts of a server of our own (`bench/web/server.go`) that has
the other cores. It ends when nine of ten pages are there: what is left belongs to slow and dead hosts, whose delays and
rests are all that would be waited for.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.crawl import HERE, SHARED, WORK, row
from bench.processes import below, cpu_seconds, rss_mib
from nephila import wiring
from nephila.control import crawls
from nephila.control.supervisor import Supervisor
from nephila.control.upkeep import Duty
from nephila.profiles import crawl_settings
from nephila.settings import process_settings

MOST = 0.9  # of all pages
DUTY_SECONDS, LOOK_SECONDS = 1.0, 0.1
SECONDS_MAX = 300.0
CRAWLER_CORE, SERVER_CORES = "0", "1-"


@dataclass(frozen=True, slots=True)
class Shape:
    hosts: int
    pages: int  # of each
    latency_ms: int
    rate: float | None = None  # what is aimed at, in pages a second
    cpu_ms: float | None = None  # and a page

    def __str__(self) -> str:
        return f"{self.hosts:,} hosts of {self.pages} pages, {self.latency_ms} ms"


SHAPES = {
    "h2000": Shape(2000, 20, 300, rate=600, cpu_ms=1.6),
    "h2000-fast": Shape(2000, 20, 0, cpu_ms=1.6),
    "h10000": Shape(10_000, 6, 300, cpu_ms=2.2),
    "h10000-fast": Shape(10_000, 6, 0, cpu_ms=2.2),
    "deep": Shape(100, 200, 300),
}


@dataclass(frozen=True, slots=True)
class Result:
    rate: float
    cpu_ms: float  # of the worker and its helpers, a page
    rss_mib: int  # of both, at most
    visited: int
    failed: int
    seen: dict[str, Any]  # by the server


class Server:
    """The web and its DNS server."""

    def __init__(self, program: Path, root: Path, shape: Shape, folder: Path) -> None:
        self.ca_file = folder / "ca.pem"
        options = {"hosts": shape.hosts, "pages": shape.pages, "latency": shape.latency_ms}
        given = [f"-{name}={value}" for name, value in options.items()]
        pinned = ["taskset", "-c", f"{SERVER_CORES}{os.cpu_count() - 1}"] if (os.cpu_count() or 1) > 1 else []
        command = [*pinned, str(program), f"-root={root}", f"-ca={self.ca_file}", *given]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.place = self._heard()

    def close(self) -> dict[str, Any]:
        """End it; what it has seen."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        seen = self._heard()
        self._process.wait()
        return seen

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


def crawl(program: Path, root: Path, shape: Shape, **process: Any) -> Result:
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        server = Server(program, root, shape, Path(folder))
        given = {"data": Path(folder) / "data", "log_level": "error", "workers": 1, "allow_private": True}
        given |= {"dns_servers": [server.place["dns"]], "ca_file": server.ca_file}
        settings = process_settings(given | process)
        store = wiring.open_store(settings, create=True)
        seeds = [f"https://h{number}.broad.test:{server.place['port']}/p/0" for number in range(shape.hosts)]
        own = {"fetch.allow_private": True}
        crawl, _ = crawls.start(store.catalog, seeds, crawl_settings("broad", own))
        command = ["taskset", "-c", CRAWLER_CORE, *wiring.WORKER_COMMAND]
        supervisor = Supervisor(command, wiring.worker_environment(settings), 1, store.catalog.mark_suspect)
        supervisor.start()
        most = Most(int(MOST * shape.hosts * shape.pages), supervisor.pids[0])
        _until_most(store, crawl.id, supervisor, most)
        supervisor.close()
        tallies = store.catalog.tallies(crawl.id)
        return Result(
            most.rate, most.cpu_ms, most.rss_mib, tallies["visited"], tallies.get("failed", 0), server.close()
        )


class Most:
    """Watches a worker until it has most of the pages."""

    def __init__(self, pages: int, pid: int) -> None:
        self.rate = self.cpu_ms = 0.0
        self.rss_mib = 0
        self._pages, self._pid = pages, pid
        self._began = 0.0
        self._cpu = 0.0

    def look(self, visited: int) -> None:
        pids = [self._pid, *below(self._pid)]
        self.rss_mib = max(self.rss_mib, sum(map(rss_mib, pids)))
        if self.rate or not visited:
            return
        now, cpu = time.perf_counter(), sum(map(cpu_seconds, pids))
        if not self._began:
            self._began, self._cpu, self._first = now, cpu, visited
        elif visited >= self._pages:
            pages = visited - self._first
            self.rate, self.cpu_ms = pages / (now - self._began), (cpu - self._cpu) / pages * 1000


def _until_most(store: wiring.Store, crawl_id: int, supervisor: Supervisor, most: Most) -> None:
    duty = Duty(store.upkeep, store.archive, shared=False)
    began = duty_at = time.perf_counter()
    while not most.rate:
        supervisor.poll()
        now, visited = time.perf_counter(), store.catalog.tallies(crawl_id).get("visited", 0)
        if now - began > SECONDS_MAX:
            sys.exit(f"{visited} pages in {SECONDS_MAX:.0f} s: the crawl does not get on")
        if now >= duty_at:
            print(f"  {now - began:.0f} s, {visited} pages", file=sys.stderr, flush=True)
            duty.run_once()
            duty_at = now + DUTY_SECONDS
        most.look(visited)
        time.sleep(LOOK_SECONDS)


@contextmanager
def built() -> Iterator[Path]:
    """The server, built here; without Go there is no benchmark."""
    if shutil.which("go") is None:
        sys.exit("bench.broad needs Go, which makes its server (bench/web/server.go)")
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        program = Path(folder) / "server"
        subprocess.run(["go", "build", "-o", str(program), str(HERE / "web" / "server.go")], check=True)
        yield program


def pages_folder() -> Path:
    """HTML of real documentation sites."""
    found = next(
        (path for path in (WORK / "web", Path("/var/tmp/docs"), Path("/usr/share/doc")) if path.exists()), None
    )
    if found is None:
        sys.exit(f"no HTML files: run {SHARED / 'docs-site.sh'} {WORK / 'web'} first")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description="crawls of many TLS hosts on loopback")
    options.add_argument("--only", default=",".join(SHAPES), help=f"of {','.join(SHAPES)}")
    options.add_argument("--concurrency", type=int, help="requests in flight at most; default: as users have it")
    chosen = options.parse_args()
    WORK.mkdir(exist_ok=True)
    print("| what | target | result |\n|---|---|---|")
    with built() as program:
        for name in chosen.only.split(","):
            shape = SHAPES[name]
            given = {"concurrency": chosen.concurrency} if chosen.concurrency else {}
            found = crawl(program, pages_folder(), shape, **given)
            aim = f"{shape.rate:.0f} pages/s" if shape.rate else "-"
            row(f"{shape}", aim, f"**{found.rate:.0f} pages/s**, {found.visited:,} pages, {found.failed:,} failed")
            row("- CPU a page", f"{shape.cpu_ms} ms" if shape.cpu_ms else "-", f"**{found.cpu_ms:.2f} ms**")
            row("- memory of worker and helper", "600 MiB", f"{found.rss_mib} MiB")
            seen = found.seen
            shaken = f"{seen['handshakes']:,} for {seen['requests']:,} requests, {seen['resumed']:,} resumed"
            row("- handshakes", "-", f"{shaken}; {seen['questions']:,} questions for names")


if __name__ == "__main__":
    main()
