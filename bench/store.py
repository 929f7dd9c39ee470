"""The SQLite store alone, through SqliteFrontier.flush with made-up results: pages/s, CPU, the longest transaction.

    python -m bench.store [--rows 1000000,5000000,10000000] [--only growth,host,...] [--quick] [--profile]

A page brings 76 links. The worker's cache of known keys passes ten of them to the store, five are new. Eight of ten
lead to the page's own host, the others to some hosts often and to most seldom (Zipf). Flushes carry 256 pages of 256
different hosts, as politeness has it; synchronous=FULL; the log is folded by a process of its own, as in production.
Only the flush is timed: making the results up is not the store's work.
"""

import argparse
import cProfile
import gc
import multiprocessing
import os
import platform
import pstats
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from random import Random

from nephila.frontier.sqlite import Database, SqliteCatalog, SqliteFrontier, SqliteUpkeep
from nephila.frontier.store import Batch, Flushed, HostClock, Outcome, Refill, Release, Row, WorkerInfo
from nephila.models import Child, PageRecord, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import crawl_settings
from nephila.urls.identity import url_key

PAGES_PER_FLUSH = 256
WINDOW, WINDOW_MAX = 16, 2048
QUEUES_PER_LOAD = 256
QUEUES_HELD = 8000  # 8,000 hosts at one page a second
KNOWN_KEPT = 20_000  # recent children, from which links to known URLs are drawn
CHECKPOINT_EVERY_SECONDS = 0.25
PRELOAD_ROWS = 20_000  # of one flush
GC_THRESHOLD = (100_000, 50, 1000)  # the default collects inside flushes: some 30 us a page more
TITLE = "A page of a site that was made up, with a title of usual length"
REFUSED = [f"https://elsewhere{number}.example/a/refused/link" for number in range(4)]

TARGETS = {1_000_000: 6000, 5_000_000: 4000, 10_000_000: 3000}
TRANSACTION_SECONDS_MAX = 0.5
RSS_MB_MAX = 400
RESUME_SECONDS_MAX = 5.0
EVEN_SHARE_MIN = 0.8  # the slowest of four writers against the fastest
QUICK = 25  # --quick is so many times smaller


# --- the results of visits, made up ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Web:
    """Where links lead. Every new URL is new for good: its number is in it."""

    crawls: list[int]
    hosts: int
    new: int = 5
    known: int = 5
    number: int = 0
    away: float = 0.2  # share of links to other hosts
    even: bool = False  # they lead to every host alike; else to few often and to many seldom, as on the web (Zipf)
    recent: deque[Child] = field(default_factory=lambda: deque(maxlen=KNOWN_KEPT))
    dice: Random = field(default_factory=lambda: Random(42424))

    def host(self) -> str:
        roll = self.dice.random()
        return f"host{int(roll * self.hosts if self.even else self.hosts**roll)}.bench"

    def child(self, crawl: int, host: str, parent: int | None, depth: int) -> Child:
        self.number += 1
        url = f"https://{host}/a/section/of/it/page-{self.number}.html"
        made = Child(crawl, host, url_key(url), url, depth, depth, parent, f"page-{self.number}.html")
        self.recent.append(made)
        return made

    def children(self, crawl: int, host: str, row: Row) -> list[Child]:
        rolls = self.dice.random
        found = [
            self.child(crawl, self.host() if rolls() < self.away else host, row.id, row.depth + 1)
            for _ in range(self.new)
        ]
        recent, count = self.recent, len(self.recent)
        return found + [_moved(recent[int(rolls() * count)], crawl) for _ in range(self.known)]

    def outcome(self, crawl: int, host: str, row: Row) -> Outcome:
        children = self.children(crawl, host, row)
        links: dict[str, bytes] = {host: b"12345678" * (76 - len(children))}
        for found in children:
            links[found.host] = links.get(found.host, b"") + found.key[:8]
        page = PageRecord(
            status=200,
            content_type="text/html",
            body_bytes=36_000,
            wire_bytes=9000,
            fetched_at=1_700_000_000_000,
            timing=Timing(0.0, 1.5, 3.5, 20.5, 31.25),
            ip="127.0.0.1",
            protocol="http/1.1",
            charset="utf-8",
            title=TITLE,
            facts={"language": "en", "description": TITLE},
            content_hash=b"\x07" * 32,
            links=links,
            refused=REFUSED,
        )
        return Outcome(row.id, crawl, UrlState.VISITED, "", 1, page, children)


def _moved(known: Child, crawl: int) -> Child:
    if known.crawl == crawl:
        return known
    return Child(crawl, known.host, known.key, known.url, known.depth, known.priority, None, known.raw)


# --- a worker that visits nothing -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Held:
    crawl: int
    host: str
    rows: deque[Row]
    window: int = WINDOW
    more: bool = True  # the store may have further rows
    asked: bool = False


@dataclass(slots=True)
class Measure:
    pages: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    longest: float = 0.0
    flushes: int = 0
    walls: list[float] = field(default_factory=list)  # a page, of each flush

    @property
    def pages_a_second(self) -> float:
        return self.pages / self.wall if self.wall else 0.0

    @property
    def undisturbed(self) -> float:
        """Pages a second in the best tenth of the flushes: what the others on this machine leave untouched."""
        return 1 / sorted(self.walls)[len(self.walls) // 10] if self.walls else 0.0

    @property
    def cpu_us_a_page(self) -> float:
        return 1e6 * self.cpu / self.pages if self.pages else 0.0


class Player:
    """Does what a worker does with windows, refills and releases, without a network."""

    def __init__(self, folder: Path, web: Web) -> None:
        self.frontier = SqliteFrontier(Database(folder))
        self.web = web
        self.seq = 0
        self.held: dict[int, Held] = {}
        self.turn: deque[int] = deque()  # queues with rows, the next one first
        self.emptied: list[int] = []  # queues that go back
        self.measure = Measure()
        self.profile: cProfile.Profile | None = None

    def start(self, name: str = "bench") -> None:
        gc.set_threshold(*GC_THRESHOLD)
        self.frontier.join(WorkerInfo(name, os.getpid(), "bench"))
        self.frontier.lease({})

    def run(self, pages: int, *, seconds: float = float("inf")) -> Measure:
        self.measure = Measure()
        end = time.perf_counter() + seconds
        while self.measure.pages < pages and time.perf_counter() < end:
            self.step()
        return self.measure

    def step(self) -> None:
        batch = self.batch()
        answer = self._timed(batch)
        for release in batch.released:
            del self.held[release.queue]
        for refill, window in zip(batch.refills, answer.refills, strict=True):
            self._add(window.queue, self.held[window.queue], window.rows, refill.limit)
        for window in answer.windows:
            held = self.held[window.queue] = Held(window.crawl, window.host, deque())
            self._add(window.queue, held, window.rows, WINDOW)
        for queue in answer.arrived:
            if queue in self.held:
                self.held[queue].more = True

    def _timed(self, batch: Batch) -> Flushed:
        if self.profile:
            self.profile.enable()
        cpu, wall = time.thread_time(), time.perf_counter()
        answer = self.frontier.flush(batch)
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        if self.profile:
            self.profile.disable()
        self.measure.pages += len(batch.outcomes)
        self.measure.flushes += 1
        self.measure.wall += wall
        self.measure.cpu += cpu
        self.measure.longest = max(self.measure.longest, wall)
        if batch.outcomes:
            self.measure.walls.append(wall / len(batch.outcomes))
        return answer

    def batch(self) -> Batch:
        self.seq += 1
        batch = Batch(self.seq, released=[Release(queue, 0, 1) for queue in self.emptied])
        self.emptied.clear()
        hosts, asked = set(), []
        while self.turn and len(batch.outcomes) < PAGES_PER_FLUSH:
            queue = self.turn.popleft()
            held = self.held[queue]
            batch.outcomes.append(self.web.outcome(held.crawl, held.host, held.rows.popleft()))
            hosts.add(held.host)
            if held.rows:
                self.turn.append(queue)
            elif not held.more and not held.asked:
                batch.released.append(Release(queue, 0, 1))
            if held.more and len(held.rows) <= held.window // 2:
                held.more, held.asked = False, True
                asked.append(queue)
        batch.refills = [Refill(queue, len(self.held[queue].rows) + self.held[queue].window) for queue in asked]
        batch.clocks = [HostClock(host, 1000, 1000, Pace(latency_ms=20.0), "", 7, "127.0.0.1") for host in hosts]
        batch.in_flight = [(outcome.url_id, 0) for outcome in batch.outcomes]
        if len(self.held) < QUEUES_HELD:
            batch.new_queues, batch.window = QUEUES_PER_LOAD, WINDOW
        return batch

    def _add(self, queue: int, held: Held, rows: list[Row], limit: int) -> None:
        """A window that did not last a flush is doubled, as in the worker."""
        known = {row.id for row in held.rows}
        waiting = bool(held.rows)
        if held.asked and len(held.rows) <= held.window // 4:
            held.window = min(2 * held.window, WINDOW_MAX)
        held.rows.extend(row for row in rows if row.id not in known)
        held.more, held.asked = len(rows) >= limit, False
        if not waiting:
            (self.turn if held.rows else self.emptied).append(queue)


# --- the store of one run -------------------------------------------------------------------------------------------


def fold(folder: Path, stop: Event) -> None:
    """The checkpointer's process."""
    upkeep = SqliteUpkeep(Database(folder))
    while not stop.wait(CHECKPOINT_EVERY_SECONDS):
        upkeep.checkpoint()


@contextmanager
def store(root: Path) -> Iterator[Path]:
    """A fresh folder with its checkpointer; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="nephila-bench-", dir=root))
    Database(folder).close()
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    folder_process = context.Process(target=fold, args=(folder, stop), daemon=True)
    folder_process.start()
    try:
        yield folder
    finally:
        stop.set()
        folder_process.join(60)
        shutil.rmtree(folder, ignore_errors=True)


def crawls(folder: Path, count: int = 1) -> list[int]:
    catalog = SqliteCatalog(Database(folder))
    return [catalog.create_crawl([], crawl_settings(), f"bench {number}").id for number in range(count)]


def player(folder: Path, hosts: int, *, crawl_count: int = 1, new: int = 5, even: bool = False) -> Player:
    """Its crawls have one seed at every host, all crawls together."""
    web = Web(crawls(folder, crawl_count), hosts, new=new, even=even)
    made = Player(folder, web)
    catalog = SqliteCatalog(Database(folder))
    for number, crawl in enumerate(web.crawls):
        seeds = (web.child(crawl, f"host{host}.bench", None, 0) for host in range(number, hosts, crawl_count))
        catalog.add_seeds(crawl, seeds)
    made.start()
    return made


def preload(made: Player, rows: int, host: Callable[[int], str]) -> None:
    """Rows by the fast way, without pages: only their number matters to what is measured."""
    web = made.web
    for start in range(0, rows, PRELOAD_ROWS):
        children = [
            web.child(web.crawls[number % len(web.crawls)], host(number), None, 3)
            for number in range(start, min(rows, start + PRELOAD_ROWS))
        ]
        made.seq += 1
        made.frontier.flush(Batch(made.seq, children=children))


def rss_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# --- the table ------------------------------------------------------------------------------------------------------


class Table:
    """Target, result and their ratio: at least 1 is good."""

    def __init__(self) -> None:
        print(f"{'what':<58}{'target':>12}{'result':>12}{'ratio':>8}")

    def at_least(self, what: str, target: float, result: float) -> None:
        self._line(what, f">= {target:,g}", result, result / target)

    def at_most(self, what: str, target: float, result: float) -> None:
        self._line(what, f"<= {target:,g}", result, target / result if result else float("inf"))

    def note(self, what: str, result: float) -> None:
        print(f"{what:<58}{'':>12}{_number(result):>12}", flush=True)

    def _line(self, what: str, target: str, result: float, ratio: float) -> None:
        print(f"{what:<58}{target:>12}{_number(result):>12}{ratio:>8.2f}", flush=True)

    def measure(self, what: str, measure: Measure, pages_target: float | None) -> None:
        if pages_target is None:
            self.note(f"{what}: pages/s", measure.pages_a_second)
        else:
            self.at_least(f"{what}: pages/s", pages_target, measure.pages_a_second)
        self.note(f"{what}: pages/s, best tenth of the flushes", measure.undisturbed)
        self.note(f"{what}: CPU us/page", measure.cpu_us_a_page)
        self.at_most(f"{what}: longest transaction, s", TRANSACTION_SECONDS_MAX, measure.longest)
        self.at_most(f"{what}: RSS, MB", RSS_MB_MAX, rss_mb())


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# --- what is measured -----------------------------------------------------------------------------------------------


def growth(root: Path, table: Table, rows: list[int], pages: int, profile: cProfile.Profile | None) -> None:
    """One crawl over 100,000 hosts grows; its speed near each mark, and how long a resume takes there."""
    with store(root) as folder:
        made = player(folder, 100_000)
        for mark in rows:
            made.run(max(0, (mark - made.web.number) // made.web.new - pages))
            made.profile = profile
            measure = made.run(pages)
            made.profile = None
            table.measure(f"{mark:,} URLs", measure, TARGETS.get(mark))
            resume(folder, table, made, mark)


def resume(folder: Path, table: Table, made: Player, mark: int) -> None:
    """The worker dies; a new one joins, takes everything over and has its first rows."""
    os.close(made.frontier._lock_fd)
    heir = Player(folder, made.web)
    began = time.perf_counter()
    heir.start()
    heir.step()
    table.at_most(f"{mark:,} URLs: resume to first rows, s", RESUME_SECONDS_MAX, time.perf_counter() - began)
    assert heir.turn, "a resume found nothing to do"
    made.frontier, made.seq, made.held, made.turn, made.emptied = heir.frontier, heir.seq, heir.held, heir.turn, []


def one_host(root: Path, table: Table, scale: int, pages: int) -> None:
    with store(root) as folder:
        made = player(folder, 1)
        preload(made, 5_000_000 // scale, lambda number: "host0.bench")
        table.measure(f"one host of {5_000_000 // scale:,} URLs", made.run(pages), None)


def many_hosts(root: Path, table: Table, scale: int, pages: int) -> None:
    with store(root) as folder:
        made = player(folder, 1_000_000 // scale)
        table.measure(f"{1_000_000 // scale:,} hosts", made.run(pages), None)


def even_links(root: Path, table: Table, scale: int, pages: int) -> None:
    with store(root) as folder:
        made = player(folder, 100_000, even=True)
        preload(made, 900_000 // scale, lambda number: f"host{number % 100_000}.bench")
        table.measure("links to all hosts alike", made.run(pages), None)


def many_new(root: Path, table: Table, scale: int, pages: int) -> None:
    with store(root) as folder:
        made = player(folder, 100_000, new=21)
        preload(made, 1_000_000 // scale, lambda number: f"host{number % 100_000}.bench")
        table.measure("21 new URLs a page", made.run(pages), None)


def many_crawls(root: Path, table: Table, scale: int, pages: int) -> None:
    with store(root) as folder:
        made = player(folder, 2000, crawl_count=100)
        preload(made, 500_000 // scale, lambda number: f"host{number % 2000}.bench")
        table.measure("100 crawls at once", made.run(pages), None)


def four_writers(root: Path, table: Table, scale: int, seconds: float) -> None:
    with store(root) as folder:
        made = player(folder, 100_000)
        preload(made, 500_000 // scale, lambda number: f"host{number % 100_000}.bench")
        made.frontier.leave()
        context = multiprocessing.get_context("spawn")
        barrier, results = context.Barrier(4), context.SimpleQueue()
        writers = [
            context.Process(target=_writer, args=(folder, made.web.crawls, number, seconds, barrier, results))
            for number in range(4)
        ]
        for writer in writers:
            writer.start()
        measures = [results.get() for _ in writers]
        for writer in writers:
            writer.join()
    rates = sorted(measure.pages / seconds for measure in measures)
    table.note("four writers: pages/s together", sum(rates))
    table.note("four writers: pages/s of the slowest", rates[0])
    table.note("four writers: pages/s of the fastest", rates[-1])
    table.at_least("four writers: slowest / fastest", EVEN_SHARE_MIN, rates[0] / rates[-1])
    table.note("four writers: longest flush with its wait for the others, s", max(m.longest for m in measures))


def _writer(
    folder: Path,
    crawl_ids: list[int],
    number: int,
    seconds: float,
    barrier: Barrier,
    results: "multiprocessing.SimpleQueue[Measure]",
) -> None:
    web = Web(crawl_ids, 100_000, number=(number + 1) * 100_000_000, dice=Random(number))
    web.child(crawl_ids[0], web.host(), None, 0)
    made = Player(folder, web)
    gc.set_threshold(*GC_THRESHOLD)
    made.frontier.join(WorkerInfo(f"writer {number}", os.getpid(), "bench"))
    barrier.wait()
    made.frontier.lease({})
    made.run(20 * PAGES_PER_FLUSH)
    barrier.wait()
    results.put(made.run(10**9, seconds=seconds))


VARIANTS = {
    "host": one_host,
    "hosts": many_hosts,
    "even": even_links,
    "new": many_new,
    "crawls": many_crawls,
    "writers": lambda root, table, scale, pages: four_writers(root, table, scale, 5.0 if scale > 1 else 20.0),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    options.add_argument(
        "--rows", default="1000000,5000000,10000000", help="URLs in the store at which the speed is measured"
    )
    options.add_argument("--only", default="", help=f"of growth,{','.join(VARIANTS)}")
    options.add_argument("--quick", action="store_true", help="200,000 rows, under a minute")
    options.add_argument("--profile", action="store_true", help="where the time of the flushes of `growth` goes")
    options.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="on the disk to be measured")
    given = options.parse_args()
    rows = [200_000] if given.quick else [int(mark) for mark in given.rows.split(",")]
    scale, pages = (QUICK, 5000) if given.quick else (1, 20_000)
    wanted = given.only.split(",") if given.only else ["growth", *VARIANTS]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {given.folder}")
    table, profile = Table(), cProfile.Profile() if given.profile else None
    if "growth" in wanted:
        growth(given.folder, table, rows, pages, profile)
    for name, variant in VARIANTS.items():
        if name in wanted:
            variant(given.folder, table, scale, pages)
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
