"""The control plane: how fast it answers in a large store, what an export takes, what watchers cost a crawl.

    python -m bench.api [--store sqlite,postgres] [--only answers,export,watchers] [--rows 5000000] [--quick]

A real `nephila serve` in a process of its own, asked over HTTP. The store of `answers` and `export` is filled through
Frontier.flush (bench/player.py); that of `watchers` is a crawl of the sites of bench/crawl.py.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from websockets.asyncio.client import connect

from bench.crawl import ALL_SITES, OWN_SITE, SHARED, WORK
from bench.places import PLACES, Place, PostgresPlace
from bench.player import Player, Web, preload
from bench.processes import below, cpu_seconds
from bench.store import Table
from nephila import wiring
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Outcome, Row
from nephila.models import PageRecord, Reason, UrlState
from nephila.profiles import crawl_settings

ROWS, QUICK_ROWS = 5_000_000, 100_000
HOSTS = 100_000
PRELOADED = 0.6  # share of the URLs that no page of the store links to: five times as fast to fill
PAGES_PER_RUN = 5000
FAILED, NOT_FOUND = 0.03, 0.05  # shares of the pages
ANSWER_MS_MAX = {"sqlite": 100.0, "postgres": 50.0}  # p95
REQUESTS = 200
FRESH_REQUESTS, FRESH_SECONDS = 50, 1.05  # a snapshot is kept for a second: so far apart each is read anew
EXPORT_ROWS = 1_000_000
# RSS of the server at the last row over that at half of them. Before, SQLite fills its page cache, which is bounded:
# 64 MiB of each connection that the pool lends.
EXPORT_STEADY_MAX = 1.05
EXPORT_RSS_MB_MAX = 400.0
EXPORT_FORMATS = ("jsonl", "csv")
READ_BYTES = 65_536
ROUNDS = 3
LIVE_CLIENTS, POLLING_CLIENTS = 200, 50
WARM_SECONDS, MEASURED_SECONDS = 4.0, 15.0
QUICK_SECONDS = 8.0
SHARE_MIN = 0.9  # of the crawl's throughput that watchers leave
PATIENCE_SECONDS = 60.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


# --- the server -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Server:
    pid: int
    url: str

    def get(self, path: str) -> HTTPResponse:
        """Ask the server on a connection of its own."""
        connection = self.connection()
        connection.request("GET", f"/api/v1{path}")
        return connection.getresponse()

    def connection(self) -> HTTPConnection:
        return HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_SECONDS)

    def cpu(self) -> float:
        """CPU seconds of all processes of the server."""
        return sum(map(cpu_seconds, [self.pid, *below(self.pid)]))

    def own_cpu(self) -> float:
        return cpu_seconds(self.pid)

    def rss_mb(self) -> float:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6

    def peak_mb(self) -> float:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024 / 1e6

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


@contextmanager
def serving(place: Place, folder: Path, workers: int) -> Iterator[Server]:
    """`nephila serve` on this store; `folder` is for the archive."""
    store = place.settings.store
    where = ["--store", store, "--data", str(folder)] if store else ["--data", str(place.settings.data)]
    options = ["--port", "0", "--workers", str(workers), "--allow-private", "--log-level", "error"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEPHILA_")}
    command = [sys.executable, "-m", "nephila", "serve", *options, *where]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        assert process.stdout is not None
        found = re.search(r" at (http://\S+) ", process.stdout.readline())
        assert found is not None, "the server did not start"
        yield Server(process.pid, found[1])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# --- a store of many URLs ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class MixedWeb(Web):
    """A made-up web with some pages that are missing and some that do not answer."""

    def outcome(self, crawl: int, host: str, row: Row) -> Outcome:
        roll = self.dice.random()
        if roll < FAILED:
            page = PageRecord(fetched_at=1_700_000_000_000, error="no answer in 20 s")
            return Outcome(row.id, crawl, UrlState.FAILED, Reason.TIMEOUT, 3, page)
        if roll < FAILED + NOT_FOUND:
            page = PageRecord(status=404, content_type="text/html", fetched_at=1_700_000_000_000, ip="127.0.0.1")
            return Outcome(row.id, crawl, UrlState.NOT_FOUND, "", 1, page)
        return Web.outcome(self, crawl, host, row)


def fill(place: Place, rows: int) -> int:
    """Make a crawl of so many URLs on hosts of all sizes, whose worker has left; its id."""
    catalog = wiring.open_store(place.settings).catalog
    crawl = catalog.create_crawl(["https://host0.bench/"], crawl_settings(), "bench").id
    web = MixedWeb([crawl], hosts := min(HOSTS, rows // 10))
    catalog.add_seeds(crawl, (web.child(crawl, f"host{host}.bench", None, 0) for host in range(hosts)))
    made = Player(wiring.open_frontier(place.settings), web)
    made.start()
    preload(made, int(rows * PRELOADED) - hosts, lambda number: f"host{number % hosts}.bench")
    while web.number < rows:
        made.run(min(PAGES_PER_RUN, (rows - web.number) // web.new + 1))
    made.frontier.leave()
    if isinstance(place, PostgresPlace):  # what autovacuum would have done a minute later
        place.server.execute("VACUUM (ANALYZE)", "bench")
    return crawl


@dataclass(slots=True)
class Filled:
    """A filled store and what requests ask for in it."""

    catalog: Catalog
    crawl: int
    rows: int
    dice: Random = field(default_factory=lambda: Random(7))

    last: int = 0  # id

    def __post_init__(self) -> None:
        self.last = self.catalog.urls(self.crawl, 0, 1, UrlFilter(), descending=True)[0].id

    @property
    def place(self) -> int:
        """A random id."""
        return self.dice.randrange(self.last)

    def urls(self, state: UrlState) -> list[str]:
        """URLs in this state, from all over the crawl."""
        found = [self.catalog.urls(self.crawl, self.place, 1, UrlFilter((state,))) for _ in range(REQUESTS)]
        urls = [row.url for rows in found for row in rows]
        assert urls, f"nothing is {state}"
        return [urls[number % len(urls)] for number in range(REQUESTS)]


# --- how fast it answers ----------------------------------------------------------------------------------------------


def answers(table: Table, kind: str, server: Server, filled: Filled) -> None:
    """The time of each request with its answer, one after the other on one kept connection."""
    limit = ANSWER_MS_MAX[kind]
    for what, paths in questions(filled).items():
        cpu = server.own_cpu()
        walls = timed(server, filled.crawl, paths)
        table.at_most(f"{what}: p95, ms", limit, quantile(walls, 0.95))
        table.note(f"{what}: p50, ms", median(walls))
        table.note(f"{what}: CPU of the serving process, ms", 1000 * (server.own_cpu() - cpu) / len(walls))
    fresh = timed(server, filled.crawl, ["/progress"] * FRESH_REQUESTS, FRESH_SECONDS)
    table.at_most("progress, read anew each time: p95, ms", limit, quantile(fresh, 0.95))
    table.note("progress, read anew each time: p50, ms", median(fresh))


def questions(filled: Filled) -> dict[str, list[str]]:
    """The requests that are timed, as paths below the crawl."""

    def lists(query: str) -> list[str]:
        return [f"/urls?after={filled.place}{query}" for _ in range(REQUESTS)]

    def explained(urls: list[str]) -> list[str]:
        return [f"/explain?url={quote(url, safe='')}" for url in urls]

    unknown = [f"https://host{number}.bench/a/page/nobody/links/to" for number in range(REQUESTS)]
    return {
        "list": lists(""),
        "list, from the start": ["/urls"] * REQUESTS,
        "list, visited": lists("&state=visited"),
        "list, failed": lists("&state=failed"),
        "list, queued": lists("&state=queued"),
        "list, the largest host": lists("&host=host1.bench"),
        "list, a small host": [f"/urls?host=host{100 + number}.bench" for number in range(REQUESTS)],
        "list, a text in many": lists("&text=7.html"),
        "list, a text in none": lists("&text=nowhere"),
        "list, status 404": lists("&status=404"),
        "explain, visited": explained(filled.urls(UrlState.VISITED)),
        "explain, failed": explained(filled.urls(UrlState.FAILED)),
        "explain, queued": explained(filled.urls(UrlState.QUEUED)),
        "explain, unknown": explained(unknown),
        "crawl": [""] * REQUESTS,
        "progress, as polled": ["/progress"] * REQUESTS,
    }


def timed(server: Server, crawl: int, paths: list[str], apart: float = 0.0) -> list[float]:
    """Milliseconds of each request."""
    connection = server.connection()
    walls = []
    for path in paths:
        time.sleep(apart)
        began = time.perf_counter()
        connection.request("GET", f"/api/v1/crawls/{crawl}{path}")
        answer = connection.getresponse()
        body = answer.read()
        walls.append(1000 * (time.perf_counter() - began))
        assert answer.status == 200, (path, answer.status, body[:300])
    connection.close()
    return walls


def quantile(walls: list[float], share: float) -> float:
    return sorted(walls)[min(len(walls) - 1, int(len(walls) * share))]


# --- what an export takes ---------------------------------------------------------------------------------------------


def export(table: Table, kind: str, server: Server, filled: Filled) -> None:
    """Exports whose reader goes away after so many rows."""
    for format in EXPORT_FORMATS:
        _exported(table, server, filled, format, min(EXPORT_ROWS, filled.rows))


def _exported(table: Table, server: Server, filled: Filled, format: str, wanted: int) -> None:
    what, before, cpu = f"export of {wanted:,}, {format}", server.rss_mb(), server.cpu()
    server.forget_peak()
    began = time.perf_counter()
    answer = server.get(f"/crawls/{filled.crawl}/export?format={format}")
    assert answer.status == 200
    rows, size, half, first = 0, 0, 0.0, 0.0
    while rows < wanted and (part := answer.read1(READ_BYTES)):
        first = first or time.perf_counter() - began
        rows, size = rows + part.count(b"\n"), size + len(part)
        if not half and rows >= wanted // 2:
            half = server.rss_mb()
    seconds, last = time.perf_counter() - began, server.rss_mb()
    answer.close()
    assert rows >= wanted, (rows, wanted)
    table.note(f"{what}: rows/s", rows / seconds)
    table.note(f"{what}: MB/s", size / 1e6 / seconds)
    table.note(f"{what}: CPU of the server, us/row", 1e6 * (server.cpu() - cpu) / rows)
    table.note(f"{what}: time to the first byte, ms", 1000 * first)
    table.note(f"{what}: RSS of the server before, MB", before)
    table.at_most(f"{what}: highest RSS, MB", EXPORT_RSS_MB_MAX, server.peak_mb())
    table.at_most(f"{what}: RSS at the end / at half", EXPORT_STEADY_MAX, last / half)


# --- what watchers cost a crawl ---------------------------------------------------------------------------------------


class Round(NamedTuple):
    pages: float  # a second
    per_cpu: float  # pages a second of CPU of all processes of the server and of the store
    api: float  # cores that the serving process itself used
    clients: float  # cores that those who watch used
    busy: float  # share of all cores
    told: float = 0.0  # snapshots a second, all clients together
    polled: float = 0.0  # answers a second
    poll_ms: float = 0.0  # p95


class Seen(NamedTuple):
    """What the watchers have seen."""

    snapshots: int
    polls: list[float]  # milliseconds


class Crowd(NamedTuple):
    live: int = 0
    polling: int = 0

    def __str__(self) -> str:
        return f"{self.live} live, {self.polling} polling"


ALONE, LIVE, ALL = Crowd(), Crowd(LIVE_CLIENTS), Crowd(LIVE_CLIENTS, POLLING_CLIENTS)


def watchers(table: Table, kind: str, root: Path, seconds: float, rounds: int) -> None:
    """Medians of rounds without and with watchers in turns, each over the same part of the same crawl."""
    results: dict[Crowd, list[Round]] = {ALONE: [], LIVE: [], ALL: []}
    for _ in range(rounds):
        for crowd, found in results.items():
            found.append(_round(kind, root, seconds, crowd))
    alone = _medians(results[ALONE])
    for crowd, found in results.items():
        _tell(table, crowd, _medians(found), alone)


def _tell(table: Table, crowd: Crowd, found: Round, alone: Round) -> None:
    table.note(f"{crowd}: pages/s", found.pages)
    table.note(f"{crowd}: pages per CPU second of the server", found.per_cpu)
    table.note(f"{crowd}: cores the serving process takes", found.api)
    table.note(f"{crowd}: share of all cores in use", found.busy)
    if crowd == ALONE:
        return
    table.note(f"{crowd}: cores the clients take", found.clients)
    table.note(f"{crowd}: snapshots/s told", found.told)
    if crowd.polling:
        table.note(f"{crowd}: polls/s answered", found.polled)
        table.note(f"{crowd}: polls, p95, ms", found.poll_ms)
    table.at_least(f"{crowd}: pages/s over those alone", SHARE_MIN, found.pages / alone.pages)
    table.at_least(f"{crowd}: pages per CPU second / alone", SHARE_MIN, found.per_cpu / alone.per_cpu)


def _medians(rounds: list[Round]) -> Round:
    return Round(*(median(values) for values in zip(*rounds, strict=True)))


def _round(kind: str, root: Path, seconds: float, crowd: Crowd) -> Round:
    with (
        PLACES[kind](root) as place,
        tempfile.TemporaryDirectory(dir=root) as folder,
        serving(place, Path(folder), 1) as server,
    ):
        crawl = _start_crawl(server)
        catalog = wiring.open_store(place.settings).catalog
        _until(lambda: _visited(catalog, crawl) > 0)
        if crowd == ALONE:
            time.sleep(WARM_SECONDS)
            return _measured(place, server, catalog, crawl, seconds)
        with _watching(server, crawl, crowd) as audience:
            time.sleep(WARM_SECONDS)
            return _measured(place, server, catalog, crawl, seconds, audience)


def _start_crawl(server: Server) -> int:
    connection = server.connection()
    body = json.dumps({"seeds": ALL_SITES, "settings": OWN_SITE})
    connection.request("POST", "/api/v1/crawls", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 201, text
    return int(json.loads(text)["id"])


def _until(done: Callable[[], bool]) -> None:
    end = time.perf_counter() + PATIENCE_SECONDS
    while not done():
        assert time.perf_counter() < end, "it does not begin"
        time.sleep(0.05)


def _visited(catalog: Catalog, crawl: int) -> int:
    return catalog.tallies(crawl).get(UrlState.VISITED, 0)


@dataclass(slots=True)
class Audience:
    pid: int
    measuring: Event
    stop: Event
    results: "multiprocessing.SimpleQueue[Seen]"


def _measured(
    place: Place, server: Server, catalog: Catalog, crawl: int, seconds: float, audience: Audience | None = None
) -> Round:
    def used() -> tuple[float, ...]:
        clients = cpu_seconds(audience.pid) if audience else 0.0
        store = place.server_cpu() if isinstance(place, PostgresPlace) else 0.0
        return _visited(catalog, crawl), server.cpu() + store, server.own_cpu(), clients, _busy()

    if audience:
        audience.measuring.set()
    began, before = time.perf_counter(), used()
    time.sleep(seconds)
    after, wall = used(), time.perf_counter() - began
    assert not catalog.crawl(crawl).state.over, "the sites are too small for this machine"
    pages, tree, api, clients, busy = (new - old for new, old in zip(after, before, strict=True))
    found = Round(pages / wall, pages / tree, api / wall, clients / wall, busy / wall / (os.cpu_count() or 1))
    if not audience:
        return found
    audience.stop.set()
    seen = audience.results.get()
    told, polled = seen.snapshots / wall, len(seen.polls) / wall
    return found._replace(told=told, polled=polled, poll_ms=quantile(seen.polls, 0.95) if seen.polls else 0.0)


def _busy() -> float:
    """Seconds of all cores that were not idle."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


# --- those who watch, in a process of their own -----------------------------------------------------------------------


@contextmanager
def _watching(server: Server, crawl: int, crowd: Crowd) -> Iterator[Audience]:
    context = multiprocessing.get_context("spawn")
    begun, measuring, stop, results = context.Event(), context.Event(), context.Event(), context.SimpleQueue()
    values = (Watch(urlsplit(server.url).netloc, crawl, crowd), begun, measuring, stop, results)
    process = context.Process(target=_audience, args=values, daemon=True)
    process.start()
    try:
        assert begun.wait(PATIENCE_SECONDS), "the clients did not connect"
        assert process.pid is not None
        yield Audience(process.pid, measuring, stop, results)
    finally:
        stop.set()
        process.join(PATIENCE_SECONDS)


@dataclass(slots=True)
class Watch:
    address: str
    crawl: int
    crowd: Crowd
    greeted: int = 0  # clients that had their first answer
    measuring: bool = False
    snapshots: int = 0
    polls: list[float] = field(default_factory=list)

    async def live(self) -> None:
        async with connect(f"ws://{self.address}/api/v1/crawls/{self.crawl}/ws") as socket:
            await socket.recv()
            self.greeted += 1
            async for _ in socket:
                self.snapshots += self.measuring

    async def poll(self, number: int) -> None:
        """Ask for both paths once a second, spread over it; by hand: a library would take more CPU than the server."""
        host, port = self.address.split(":")
        paths = (f"/api/v1/crawls/{self.crawl}", f"/api/v1/crawls/{self.crawl}/urls")
        reader, writer = await asyncio.open_connection(host, int(port))
        await _ask(reader, writer, self.address, paths[0])
        self.greeted += 1
        await asyncio.sleep(number / self.crowd.polling)
        due = time.perf_counter()
        while True:  # until it is cancelled
            for path in paths:
                began = time.perf_counter()
                await _ask(reader, writer, self.address, path)
                if self.measuring:
                    self.polls.append(1000 * (time.perf_counter() - began))
            due += 1.0
            await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, path: str) -> None:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    size = re.search(rb"(?i)content-length: (\d+)", head)
    assert size is not None
    await reader.readexactly(int(size[1]))


async def _watch_all(watch: Watch, begun: Event, measuring: Event, stop: Event) -> Seen:
    crowd = watch.crowd
    clients = [watch.live() for _ in range(crowd.live)] + [watch.poll(number) for number in range(crowd.polling)]
    tasks = [asyncio.create_task(client) for client in clients]
    while not stop.is_set():
        await asyncio.sleep(0.05)
        if watch.greeted >= len(tasks):
            begun.set()
        watch.measuring = measuring.is_set()
        for task in tasks:
            if task.done():
                task.result()
    for task in tasks:
        task.cancel()
    return Seen(watch.snapshots, watch.polls)


def _audience(
    watch: Watch, begun: Event, measuring: Event, stop: Event, results: "multiprocessing.SimpleQueue[Seen]"
) -> None:
    results.put(asyncio.run(_watch_all(watch, begun, measuring, stop)))


# --- the sites of bench/crawl.py --------------------------------------------------------------------------------------


@contextmanager
def sites() -> Iterator[None]:
    """The documentation sites that run already, or our own nginx, which ends with this process."""
    if _reachable(ALL_SITES[0]):
        yield
        return
    folder = next((path for path in (WORK / "web", Path("/var/tmp/web")) if path.exists()), WORK / "web")
    script = ["bash", str(SHARED / "docs-site.sh"), str(folder)]
    subprocess.run(script, check=True, stdout=sys.stderr)
    try:
        yield
    finally:
        subprocess.run([*script, "stop"], check=False)


def _reachable(url: str) -> bool:
    connection: Any = HTTPConnection(urlsplit(url).netloc, timeout=5)
    try:
        connection.request("GET", "/")
        return bool(connection.getresponse().status == 200)
    except OSError:
        return False
    finally:
        connection.close()


# --- which ------------------------------------------------------------------------------------------------------------

FILLED: dict[str, Callable[[Table, str, Server, Filled], None]] = {"answers": answers, "export": export}
PARTS = [*FILLED, "watchers"]


def measure(kind: str, parts: list[str], rows: int, root: Path, *, quick: bool) -> None:
    print(f"{kind}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {rows:,} URLs")
    table = Table()
    wanted = [part for name, part in FILLED.items() if name in parts]
    if wanted:
        with PLACES[kind](root) as place, tempfile.TemporaryDirectory(dir=root) as folder:
            began = time.perf_counter()
            crawl = fill(place, rows)
            print(f"  filled in {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
            with serving(place, Path(folder), 0) as server:
                filled = Filled(wiring.open_store(place.settings).catalog, crawl, rows)
                for part in wanted:
                    part(table, kind, server, filled)
    if "watchers" in parts:
        with sites():
            watchers(table, kind, root, *((QUICK_SECONDS, 1) if quick else (MEASURED_SECONDS, ROUNDS)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    options.add_argument("--store", default=",".join(PLACES), help=f"of {','.join(PLACES)}")
    options.add_argument("--rows", type=int, default=ROWS, help="URLs in the store")
    options.add_argument("--only", default=",".join(PARTS), help=f"of {','.join(PARTS)}")
    options.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows, one short round")
    options.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="of SQLite and of archives")
    given = options.parse_args()
    rows = min(given.rows, QUICK_ROWS) if given.quick else given.rows
    for kind in given.store.split(","):
        measure(kind, given.only.split(","), rows, given.folder, quick=given.quick)


if __name__ == "__main__":
    main()
