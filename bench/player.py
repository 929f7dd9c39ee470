"""Made-up visits: a web that is made up, and a worker that plays its visits to any store.

A page brings 76 links. The worker's cache of known keys passes ten of them to the store, five are new. Eight of ten
lead to the page's own host, the others to some hosts often and to most seldom (Zipf). Flushes carry 500 pages of 500
different hosts, as politeness has it. Only the flush is timed: making the results up is not the store's work.
"""

import cProfile
import gc
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psycopg

from nephila.frontier.store import Batch, Flushed, Frontier, HostClock, Outcome, Refill, Release, Row, WorkerInfo
from nephila.models import ArchivePlace, Child, PageRecord, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.settings import ProcessSettings

PAGES_PER_FLUSH = ProcessSettings.model_fields["flush_results"].default  # 500: what a worker under such load sends
WINDOW, WINDOW_MAX = 16, 2048
QUEUES_PER_LOAD = 256
QUEUES_HELD = 8000  # 8,000 hosts at one page a second
KNOWN_KEPT = 20_000  # recent children, from which links to known URLs are drawn
PRELOAD_ROWS = 20_000  # of one flush
GC_THRESHOLD = (100_000, 50, 1000)  # the default collects inside flushes: some 30 us a page more
TITLE = "A page of a site that was made up, with a title of usual length"
ARCHIVED_BYTES = 9_000  # of a record
REFUSED = [f"https://elsewhere{number}.example/a/refused/link" for number in range(4)]


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
    archived: int = 0  # bytes of its archive file
    recent: deque[Child] = field(default_factory=lambda: deque(maxlen=KNOWN_KEPT))
    dice: Random = field(default_factory=lambda: Random(42424))

    @property
    def file(self) -> str:
        return f"bench-{os.getpid()}.warc.gz"

    def host(self) -> str:
        roll = self.dice.random()
        return f"host{int(roll * self.hosts if self.even else self.hosts**roll)}.bench"

    def child(self, crawl: int, host: str, parent: int | None, depth: int) -> Child:
        self.number += 1
        name = f"page-{self.number}.html"
        # As good as a hash of it, and a third of the price: making results up is not what is measured.
        made = Child(
            crawl, host, self.dice.randbytes(16), f"https://{host}/a/section/of/it/{name}", depth, depth, parent, name
        )
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
            archive=ArchivePlace(self.file, self.archived, ARCHIVED_BYTES),
            links=links,
            refused=REFUSED,
        )
        self.archived += ARCHIVED_BYTES
        return Outcome(row.id, crawl, UrlState.VISITED, "", 1, page, children)


def _moved(known: Child, crawl: int) -> Child:
    if known.crawl == crawl:
        return known
    return Child(crawl, known.host, known.key, known.url, known.depth, known.priority, None, known.raw)


# --- statements that a psycopg connection sends -----------------------------------------------------------------------

_sent = 0


def count_statements() -> None:
    """Count the statements of this process from now on, BEGIN and COMMIT included."""
    execute = psycopg.Cursor.execute

    def counted(cursor: Any, *values: Any, **options: Any) -> Any:
        global _sent
        _sent += 1
        return execute(cursor, *values, **options)

    psycopg.Cursor.execute = counted  # type: ignore[assignment, method-assign]


def statements_sent() -> int:
    return _sent


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
    wall: float = 0.0  # of the flushes
    elapsed: float = 0.0  # of everything
    cpu: float = 0.0
    longest: float = 0.0
    flushes: int = 0
    statements: int = 0
    made_up: float = 0.0  # CPU of making the results up
    walls: list[float] = field(default_factory=list)  # a page, of each flush

    @property
    def pages_a_second(self) -> float:
        return self.pages / self.wall if self.wall else 0.0

    @property
    def undisturbed(self) -> float:
        """Pages a second in the best tenth of the flushes, which other load on this machine disturbs least."""
        return 1 / sorted(self.walls)[len(self.walls) // 10] if self.walls else 0.0

    @property
    def cpu_us_a_page(self) -> float:
        return 1e6 * self.cpu / self.pages if self.pages else 0.0

    @property
    def statements_a_page(self) -> float:
        return self.statements / self.pages if self.pages else 0.0


class Player:
    """Does what a worker does with windows, refills and releases, without a network."""

    def __init__(self, frontier: Frontier, web: Web) -> None:
        self.frontier = frontier
        self.web = web
        self.worker = 0
        self.seq = 0
        self.control = 0
        self.held: dict[int, Held] = {}
        self.turn: deque[int] = deque()  # queues with rows, the next one first
        self.emptied: list[int] = []  # queues that go back
        self.measure = Measure()
        self.profile: cProfile.Profile | None = None

    def start(self, name: str = "bench") -> None:
        gc.set_threshold(*GC_THRESHOLD)
        self.worker = self.frontier.join(WorkerInfo(name, os.getpid(), "bench"))
        self.frontier.lease({})

    def run(self, pages: int, *, seconds: float = float("inf")) -> Measure:
        self.measure, before = Measure(), statements_sent()
        began = time.perf_counter()
        while self.measure.pages < pages and time.perf_counter() < began + seconds:
            self.step()
        self.measure.elapsed = time.perf_counter() - began
        self.measure.statements = statements_sent() - before
        return self.measure

    def step(self) -> None:
        began = time.thread_time()
        batch = self.batch()
        self.measure.made_up += time.thread_time() - began
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
        self.control = answer.control
        return answer

    def batch(self) -> Batch:
        self.seq += 1
        released = [Release(queue, 0, 1) for queue in self.emptied]
        batch = Batch(self.seq, control_seen=self.control, released=released)
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
        batch.archive_files = [(self.web.file, self.web.archived)]
        if len(self.held) < QUEUES_HELD:
            batch.new_queues, batch.window = QUEUES_PER_LOAD, WINDOW
        return batch

    def _add(self, queue: int, held: Held, rows: list[Row], limit: int) -> None:
        """Double a window that did not last until the next flush, as the worker does."""
        known = {row.id for row in held.rows}
        waiting = bool(held.rows)
        if held.asked and len(held.rows) <= held.window // 4:
            held.window = min(2 * held.window, WINDOW_MAX)
        held.rows.extend(row for row in rows if row.id not in known)
        held.more, held.asked = len(rows) >= limit, False
        if not waiting:
            (self.turn if held.rows else self.emptied).append(queue)


def preload(made: Player, rows: int, host: Callable[[int], str]) -> None:
    """Fill the store with rows without pages, the fast way: only their number matters to what is measured."""
    web = made.web
    for start in range(0, rows, PRELOAD_ROWS):
        children = [
            web.child(web.crawls[number % len(web.crawls)], host(number), None, 3)
            for number in range(start, min(rows, start + PRELOAD_ROWS))
        ]
        made.seq += 1
        made.frontier.flush(Batch(made.seq, children=children))
