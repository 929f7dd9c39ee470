"""What is done with a crawl besides crawling: verify, export, status, search, delete, and the start of commands.

    python -m bench.ends [--store sqlite,postgres] [--pages 300000] [--only verify,export,...] [--quick] [--folder DIR]

The store is filled through the calls of a worker, its archive with it: small pages of some 3 KB (`--pages` of them,
one host in 150 pages) and, for `verify` and `search`, a second store with pages of 36 KB, the mean of the crawls of
bench.crawl. All are commands of their own, timed from start to end.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench.places import PLACES
from bench.player import Player, Web
from bench.search import Pages
from bench.store import Table
from nephila import wiring
from nephila.archive.archive import ArchiveWriter, Exchange
from nephila.clock import SystemClock
from nephila.control.derivers import SEARCH
from nephila.frontier.store import Batch, Frontier, Outcome, Row
from nephila.models import CrawlState
from nephila.profiles import crawl_settings
from nephila.settings import ProcessSettings
from nephila.wiring import new_follower

PAGES, LARGE_SHARE, QUICK = 300_000, 20, 10
PAGES_A_HOST = 150
SMALL_BYTES, LARGE_BYTES = 3_000, 36_000
BODIES = 64  # made up, then told apart by their number
HEAD = b'HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\nETag: "5f-1"\r\n\r\n'
REQUEST = b"GET / HTTP/1.1\r\nHost: host.bench\r\nUser-Agent: Nephila (+https://nephila.example/)\r\n\r\n"

VERIFY_MB_MIN = 300
EXPORT_ROWS_MIN = 100_000
DELETE_SECONDS_MAX = 10.0
STATUS_SECONDS_MAX = 0.3
START_CPU_MAX = 0.4
SEARCH_PAGES_MIN = 1_000  # what one worker crawls on one core
STARTS = 5
COMMANDS = ("crawl", "resume", "status", "urls", "show", "export", "verify", "delete", "search", "serve", "worker")


# --- a store with its archive ---------------------------------------------------------------------------------------


class Site:
    """Pages of `size` bytes: some made-up texts, each page with its number in it."""

    def __init__(self, size: int) -> None:
        pages = Pages()
        self.bodies = [_cut(pages, size) for _ in range(BODIES)]
        self.number = 0

    def body(self) -> bytes:
        self.number += 1
        return b"<title>Page %d</title>" % self.number + self.bodies[self.number % BODIES]


def _cut(pages: Pages, size: int) -> bytes:
    html = b""
    while len(html) < size:
        html += pages.html()
    return html[:size]


class ArchivedWeb(Web):
    """A web whose pages are in the archive."""

    def __init__(self, crawl: int, hosts: int, writer: ArchiveWriter, site: Site) -> None:
        super().__init__([crawl], hosts, new=1)
        self.writer = writer
        self.site = site

    def outcome(self, crawl: int, host: str, row: Row) -> Outcome:
        made, body = super().outcome(crawl, host, row), self.site.body()
        assert made.page is not None
        exchange = Exchange(row.url, made.page.fetched_at, "127.0.0.1", "http/1.1", REQUEST, HEAD, body)
        made.page.archive = self.writer.append(exchange)
        made.page.content_hash = hashlib.sha256(body).digest()
        made.page.body_bytes = made.page.wire_bytes = len(body)
        return made


class ArchivingPlayer(Player):
    def __init__(self, frontier: Frontier, web: ArchivedWeb) -> None:
        super().__init__(frontier, web)
        self.writer = web.writer

    def batch(self) -> Batch:
        made = super().batch()
        self.writer.sync()
        made.archive_files = list(self.writer.files.items())
        return made


def fill(settings: ProcessSettings, pages: int, page_bytes: int) -> int:
    """A crawl with so many pages; answers the bytes of its records, not compressed."""
    store, hosts = wiring.open_store(settings), max(2, pages // PAGES_A_HOST)
    crawl = store.catalog.create_crawl(["https://host1.bench/"], crawl_settings(), "bench")
    store.archive.prepare()
    writer = store.archive.writer(os.urandom(8).hex())
    web = ArchivedWeb(crawl.id, hosts, writer, Site(page_bytes))
    store.catalog.add_seeds(crawl.id, [web.child(crawl.id, f"host{host}.bench", None, 0) for host in range(hosts)])
    store.catalog.seeded(crawl.id)
    player = ArchivingPlayer(wiring.open_frontier(settings), web)
    player.start()
    player.run(pages)
    writer.close()
    player.frontier.leave()
    store.catalog.steer(crawl.id, CrawlState.PAUSED)
    return sum(len(member.data) for file in writer.files for _, member in store.archive.members(file))


# --- what is measured -----------------------------------------------------------------------------------------------


class Ran(NamedTuple):
    seconds: float
    cpu: float  # of it and of the processes it started


class Ends:
    """The commands on one store, by the names of `--only`."""

    def __init__(self, kind: str, settings: ProcessSettings, table: Table) -> None:
        self.kind = kind
        self.settings = settings
        self.table = table

    def run(self, *words: str) -> Ran:
        environment = os.environ | {"NEPHILA_DATA": str(self.settings.data)}
        if self.settings.store is not None:
            environment |= {"NEPHILA_STORE": self.settings.store}
        began = time.perf_counter()
        command = [sys.executable, "-P", "-m", "nephila", *words]
        started = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, code, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(code)
        assert not started.returncode, words
        return Ran(time.perf_counter() - began, usage.ru_utime + usage.ru_stime)

    def verify(self, pages: int, record_bytes: int, what: str) -> None:
        ran = self.run("verify")
        self.table.at_least(f"{self.kind}: verify, {what}: MB/s", VERIFY_MB_MIN, record_bytes / 1e6 / ran.seconds)
        self.table.note(f"{self.kind}: verify, {what}: pages/s", pages / ran.seconds)
        self.table.note(f"{self.kind}: verify, {what}: CPU us/page", 1e6 * ran.cpu / pages)

    def export(self, urls: int) -> None:
        for format in ("jsonl", "csv", "json"):
            path = self.settings.data / f"export.{format}"
            ran = self.run("export", "-o", str(path))
            path.unlink()
            self.table.at_least(f"{self.kind}: export as {format}: rows/s", EXPORT_ROWS_MIN, urls / ran.seconds)
            self.table.note(f"{self.kind}: export as {format}: CPU us/row", 1e6 * ran.cpu / urls)

    def status(self) -> None:
        ran = sorted(self.run("status") for _ in range(STARTS))[STARTS // 2]
        self.table.at_most(f"{self.kind}: status, s", STATUS_SECONDS_MAX, ran.seconds)
        self.table.note(f"{self.kind}: status, CPU s", ran.cpu)

    def search(self, pages: int) -> None:
        store = wiring.open_store(self.settings)
        follower = new_follower(store, SystemClock(), only=SEARCH)
        began = time.perf_counter()
        with closing(follower):
            while follower.step():
                pass
        rate = pages / (time.perf_counter() - began)
        self.table.at_least(f"{self.kind}: search catching up, pages/s", SEARCH_PAGES_MIN, rate)

    def delete(self, urls: int) -> None:
        ran = self.run("delete", "--yes")
        self.table.at_most(f"{self.kind}: delete of {urls:,} URLs, s", DELETE_SECONDS_MAX, ran.seconds)
        self.table.note(f"{self.kind}: delete of {urls:,} URLs, CPU s", ran.cpu)

    def starts(self) -> None:
        for command in COMMANDS:
            least = min(self.run(command, "--help").cpu for _ in range(STARTS))
            self.table.at_most(f"start of {command}, CPU s", START_CPU_MAX, least)


def measure(kind: str, root: Path, pages: int, only: set[str], table: Table) -> None:
    for what, count, size in (
        ("small pages", pages, SMALL_BYTES),
        ("pages of 36 KB", pages // LARGE_SHARE, LARGE_BYTES),
    ):
        with tempfile.TemporaryDirectory(dir=root) as data, PLACES[kind](Path(root)) as place:
            settings = place.settings
            if settings.store is not None:
                settings = settings.model_copy(update={"data": Path(data)})
            record_bytes = fill(settings, count, size)
            ends, urls = Ends(kind, settings, table), count + max(2, count // PAGES_A_HOST)
            table.note(f"{kind}: {what}: MB of records", record_bytes / 1e6)
            if "verify" in only:
                ends.verify(count, record_bytes, what)
            if what == "small pages":
                small_ends(ends, urls, only)
            elif "search" in only:
                ends.search(count)


def small_ends(ends: Ends, urls: int, only: set[str]) -> None:
    if "export" in only:
        ends.export(urls)
    if "status" in only:
        ends.status()
    if "starts" in only and ends.kind == "sqlite":
        ends.starts()
    if "delete" in only:
        ends.delete(urls)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ends")
    parser.add_argument("--store", default="sqlite,postgres")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--only", default="verify,export,status,search,starts,delete")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"))
    options = parser.parse_args()
    table = Table()
    for kind in options.store.split(","):
        pages = options.pages // (QUICK if options.quick else 1)
        measure(kind, options.folder, pages, set(options.only.split(",")), table)


if __name__ == "__main__":
    main()
