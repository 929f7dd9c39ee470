"""The store alone, through Frontier.flush with made-up results: pages/s, CPU, the longest transaction, sizes.

    python -m bench.store [--store postgres] [--rows 1000000,10000000] [--only growth,...] [--quick] [--profile]

What a page is, and what is timed: bench/player.py. SQLite with synchronous=FULL, its log folded by a process of its
own, as in production; PostgreSQL with fsync and synchronous_commit on, the settings of bench/places.py.
"""

import argparse
import cProfile
import gc
import multiprocessing
import os
import platform
import pstats
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

import psycopg

from bench.places import PLACES, Place
from bench.player import GC_THRESHOLD, PAGES_PER_FLUSH, Measure, Player, Web, count_statements, preload
from nephila import wiring
from nephila.frontier.store import WorkerInfo
from nephila.profiles import crawl_settings
from nephila.settings import ProcessSettings

TARGETS = {
    "sqlite": {1_000_000: 6000, 5_000_000: 4000, 10_000_000: 3000},
    "postgres": {},
}  # pages/s at so many URLs
GROWTH_MAX = 1.5  # the cost of a page at the last mark over that at the first
CONNECTIONS, CONNECTIONS_PAGES_MIN = 10, 6000
SERVER_CPU_US_MAX = 150
STATEMENTS_MAX = 0.1
TRANSACTION_SECONDS_MAX = 0.5
RSS_MB_MAX = 400
RESUME_SECONDS_MAX = 5.0
EVEN_SHARE_MIN = 0.8  # the slowest writer against the fastest
BESIDE_MIN = 0.9  # pages/s beside a long transaction over those without
ROUNDS = 3
WARM_PAGES = 20 * PAGES_PER_FLUSH
QUICK = 25  # --quick is so many times smaller

ANALYSIS = """
SELECT p.status, count(*), avg(length(u.url)), max(u.depth), sum(p.body_bytes)
FROM urls u JOIN pages p ON p.url = u.id GROUP BY p.status
"""


# --- the table ------------------------------------------------------------------------------------------------------


class Table:
    """Rows of a target, a result and their ratio, which should be at least 1."""

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
        if measure.statements:
            self.at_most(f"{what}: statements a page", STATEMENTS_MAX, measure.statements_a_page)
        self.at_most(f"{what}: longest transaction, s", TRANSACTION_SECONDS_MAX, measure.longest)
        self.at_most(f"{what}: RSS, MB", RSS_MB_MAX, rss_mb())


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rss_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# --- what is measured -----------------------------------------------------------------------------------------------


class Bench:
    """What a benchmark runs with: the kind of store, the sizes, where the results go."""

    def __init__(self, kind: str, root: Path, scale: int, table: Table) -> None:
        self.kind = kind
        self.root = root
        self.scale = scale
        self.table = table
        self.pages = 20_000 if scale == 1 else 5000
        self.seconds = 20.0 if scale == 1 else 5.0

    @contextmanager
    def store(self) -> Iterator[Place]:
        with PLACES[self.kind](self.root) as place:
            yield place

    def rows(self, full: int) -> int:
        return full // self.scale

    def server_cpu(self, what: str, place: Place, before: float, pages: int) -> None:
        us = 1e6 * (place.server_cpu() - before) / max(pages, 1)
        if self.kind == "postgres":
            self.table.at_most(f"{what}: CPU of the server, us/page", SERVER_CPU_US_MAX, us)
        else:
            self.table.note(f"{what}: CPU of the checkpointer, us/page", us)


def player(
    place: Place,
    hosts: int,
    *,
    crawl_count: int = 1,
    new: int = 5,
    even: bool = False,
    overrides: Mapping[str, Any] | None = None,
) -> Player:
    """A player whose crawls together have one seed at every host."""
    catalog, settings = wiring.open_store(place.settings).catalog, crawl_settings("default", overrides)
    crawls = [catalog.create_crawl([], settings, f"bench {number}").id for number in range(crawl_count)]
    web = Web(crawls, hosts, new=new, even=even)
    for number, crawl in enumerate(web.crawls):
        seeds = (web.child(crawl, f"host{host}.bench", None, 0) for host in range(number, hosts, crawl_count))
        catalog.add_seeds(crawl, seeds)
    made = Player(wiring.open_frontier(place.settings), web)
    made.start()
    return made


def growth(bench: Bench, marks: list[int], profile: cProfile.Profile | None) -> None:
    """One crawl over 100,000 hosts grows; its speed near each mark, and how long a resume takes there."""
    measures = []
    with bench.store() as place:
        made = player(place, 100_000)
        for mark in marks:
            what = f"{mark:,} URLs"
            made.run(max(0, (mark - made.web.number) // made.web.new - bench.pages))
            made.profile, before = profile, place.server_cpu()
            measures.append(made.run(bench.pages))
            made.profile = None
            bench.table.measure(what, measures[-1], TARGETS[bench.kind].get(mark))
            bench.server_cpu(what, place, before, measures[-1].pages)
            resume(bench.table, place, made, mark)
        sizes(bench.table, place, made.web.number)
    if len(measures) > 1:
        grown = measures[0].pages_a_second / measures[-1].pages_a_second
        bench.table.at_most(f"cost of a page at {marks[-1]:,} over {marks[0]:,}", GROWTH_MAX, grown)


def resume(table: Table, place: Place, made: Player, mark: int) -> None:
    """Seconds from the death of a worker until a new one has taken everything over and has its first rows."""
    place.abandon(made.worker, made.frontier)
    heir = Player(wiring.open_frontier(place.settings), made.web)
    began = time.perf_counter()
    heir.start()
    heir.step()
    table.at_most(f"{mark:,} URLs: resume to first rows, s", RESUME_SECONDS_MAX, time.perf_counter() - began)
    assert heir.turn, "a resume found nothing to do"
    made.frontier, made.worker, made.seq = heir.frontier, heir.worker, heir.seq
    made.held, made.turn, made.emptied = heir.held, heir.turn, []


def sizes(table: Table, place: Place, urls: int) -> None:
    found = place.sizes()
    for name, size in found.items():
        table.note(f"{name}: MB a million URLs", size / urls)
    table.note("all: MB a million URLs", sum(found.values()) / urls)


def one_host(bench: Bench) -> None:
    rows = bench.rows(5_000_000)
    with bench.store() as place:
        made = player(place, 1)
        preload(made, rows, lambda number: "host0.bench")
        bench.table.measure(f"one host of {rows:,} URLs", made.run(bench.pages), None)


def many_hosts(bench: Bench) -> None:
    hosts = bench.rows(1_000_000)
    with bench.store() as place:
        made = player(place, hosts)
        bench.table.measure(f"{hosts:,} hosts", made.run(bench.pages), None)


def even_links(bench: Bench) -> None:
    with bench.store() as place:
        made = player(place, 100_000, even=True)
        preload(made, bench.rows(900_000), lambda number: f"host{number % 100_000}.bench")
        bench.table.measure("links to all hosts alike", made.run(bench.pages), None)


def many_new(bench: Bench) -> None:
    with bench.store() as place:
        made = player(place, 100_000, new=21)
        preload(made, bench.rows(1_000_000), lambda number: f"host{number % 100_000}.bench")
        bench.table.measure("21 new URLs a page", made.run(bench.pages), None)


def many_crawls(bench: Bench) -> None:
    with bench.store() as place:
        made = player(place, 2000, crawl_count=100)
        preload(made, bench.rows(500_000), lambda number: f"host{number % 2000}.bench")
        bench.table.measure("100 crawls at once", made.run(bench.pages), None)


def frontier_cap(bench: Bench) -> None:
    """Flushes of three crawls in turns: without a cap on open URLs, far from one, and at it. Then an eviction."""
    rows, hosts = bench.rows(1_000_000), 10_000
    caps = {"no cap": None, "a cap far away": 10**9, "at the cap": rows}
    rounds: dict[str, list[Measure]] = {what: [] for what in caps}
    with ExitStack() as opened:
        players = {
            what: _capped(opened.enter_context(bench.store()), rows, hosts, {"limits.max_frontier": cap})
            for what, cap in caps.items()
        }
        for _ in range(ROUNDS):
            for what, made in players.items():
                rounds[what].append(made.run(bench.pages))
    alone = median(measure.cpu_us_a_page for measure in rounds["no cap"])
    for what, measures in rounds.items():
        cpu = median(measure.cpu_us_a_page for measure in measures)
        bench.table.note(f"{what}: pages/s", median(measure.pages_a_second for measure in measures))
        bench.table.note(f"{what}: CPU us/page", cpu)
        bench.table.note(f"{what}: CPU a page over that without", cpu / alone)
    _eviction(bench, rows, hosts)


def _capped(place: Place, rows: int, hosts: int, overrides: Mapping[str, Any]) -> Player:
    made = player(place, hosts, overrides=overrides)
    preload(made, rows, lambda number: f"host{number % hosts}.bench")
    return made


def _eviction(bench: Bench, rows: int, hosts: int) -> None:
    with bench.store() as place:
        _capped(place, rows, hosts, {"limits.max_frontier": rows // 2, "limits.evict": True})
        upkeep = wiring.open_store(place.settings).upkeep
        began = time.perf_counter()
        evicted = upkeep.run_once()["evicted"]
        seconds = time.perf_counter() - began
    bench.table.note(f"one eviction among {rows:,} open URLs: rows", evicted)
    bench.table.note(f"one eviction among {rows:,} open URLs: s", seconds)


# --- several writers ------------------------------------------------------------------------------------------------


def four_writers(bench: Bench) -> None:
    writers(bench, 4, "four writers", None)


def ten_connections(bench: Bench) -> None:
    writers(bench, CONNECTIONS, f"{CONNECTIONS} connections", CONNECTIONS_PAGES_MIN)


def writers(bench: Bench, count: int, what: str, pages_target: float | None) -> None:
    """Several worker processes at once. On few cores the figure includes the CPU with which they make up results."""
    table = bench.table
    with bench.store() as place:
        made = player(place, 100_000)
        preload(made, bench.rows(500_000), lambda number: f"host{number % 100_000}.bench")
        made.frontier.leave()
        context = multiprocessing.get_context("spawn")
        barrier, results = context.Barrier(count + 1), context.SimpleQueue()
        values = (place.settings, made.web.crawls, bench.seconds, barrier, results)
        processes = [context.Process(target=_writer, args=(number, *values)) for number in range(count)]
        for process in processes:
            process.start()
        barrier.wait()
        barrier.wait()
        before = place.server_cpu()
        measures: list[Measure] = [results.get() for _ in processes]
        cpu = place.server_cpu() - before
        for process in processes:
            process.join()
    pages, rates = sum(measure.pages for measure in measures), sorted(m.pages / m.elapsed for m in measures)
    if pages_target is None:
        table.note(f"{what}: pages/s together", sum(rates))
    else:
        table.at_least(f"{what}: pages/s together", pages_target, sum(rates))
        table.at_most(f"{what}: CPU of the server, us/page", SERVER_CPU_US_MAX, 1e6 * cpu / pages)
        table.at_most(f"{what}: statements a page", STATEMENTS_MAX, sum(m.statements for m in measures) / pages)
    table.note(f"{what}: CPU of the clients, us/page", 1e6 * sum(measure.cpu for measure in measures) / pages)
    table.note(f"{what}: CPU of making the results up, us/page", 1e6 * sum(m.made_up for m in measures) / pages)
    table.note(f"{what}: pages/s of the slowest", rates[0])
    table.note(f"{what}: pages/s of the fastest", rates[-1])
    table.at_least(f"{what}: slowest / fastest", EVEN_SHARE_MIN, rates[0] / rates[-1])
    table.note(f"{what}: longest flush with its wait for the others, s", max(m.longest for m in measures))


def _writer(
    number: int,
    settings: ProcessSettings,
    crawl_ids: list[int],
    seconds: float,
    barrier: Barrier,
    results: "multiprocessing.SimpleQueue[Measure]",
) -> None:
    count_statements()
    web = Web(crawl_ids, 100_000, number=(number + 1) * 100_000_000, dice=Random(number))
    web.child(crawl_ids[0], web.host(), None, 0)
    made = Player(wiring.open_frontier(settings), web)
    gc.set_threshold(*GC_THRESHOLD)
    made.frontier.join(WorkerInfo(f"writer {number}", os.getpid(), "bench"))
    barrier.wait()
    made.frontier.lease({})
    made.run(WARM_PAGES)
    barrier.wait()
    results.put(made.run(10**9, seconds=seconds))


# --- beside others --------------------------------------------------------------------------------------------------


def analytics(bench: Bench) -> None:
    """Rounds without a snapshot, beside an idle old snapshot, and beside one whose owner never stops reading.

    The last takes a core of this machine; what a snapshot itself takes from the store is what the second shows.
    """
    rounds: dict[str, list[Beside]] = {what: [] for what in ("alone", "beside an open snapshot", "beside a long query")}
    with bench.store() as place:
        made = player(place, 100_000)
        made.run(bench.rows(1_000_000) // made.web.new)
        for _ in range(ROUNDS):
            for what, results in rounds.items():
                results.append(_beside(bench, place, made, what))
    table, alone = bench.table, _medians(rounds["alone"])
    for what, results in rounds.items():
        rate, cpu = _medians(results)
        table.note(f"{what}: pages/s", rate)
        if what == "beside an open snapshot":
            table.at_least(f"{what}: pages/s over those alone", BESIDE_MIN, rate / alone[0])
            table.note(f"{what}: CPU a page over that alone", cpu / alone[1])
        elif what != "alone":
            table.note(f"{what}: pages/s over those alone", rate / alone[0])
        table.note(f"{what}: last flushes over the first", median(r.slowing for r in results))
        table.at_most(f"{what}: longest transaction, s", TRANSACTION_SECONDS_MAX, max(r.longest for r in results))


class Beside(NamedTuple):
    rate: float
    cpu_us: float  # of server and client, a page
    longest: float
    slowing: float  # time of a page in the last third over that in the first: dead rows that the snapshot keeps


def _beside(bench: Bench, place: Place, made: Player, what: str) -> Beside:
    with ExitStack() as others:
        if what != "alone":
            others.enter_context(long_transaction(place.settings, busy=what == "beside a long query"))
        before = place.server_cpu()
        measure = made.run(10**9, seconds=bench.seconds)
        cpu = measure.cpu + place.server_cpu() - before
    third = max(1, len(measure.walls) // 3)
    slowing = median(measure.walls[-third:]) / median(measure.walls[:third])
    return Beside(measure.pages_a_second, 1e6 * cpu / measure.pages, measure.longest, slowing)


def _medians(results: list[Beside]) -> tuple[float, float]:
    return median(result.rate for result in results), median(result.cpu_us for result in results)


@contextmanager
def long_transaction(settings: ProcessSettings, *, busy: bool) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    begun, stop = context.Event(), context.Event()
    analyst = context.Process(target=_analyse, args=(settings, busy, begun, stop), daemon=True)
    analyst.start()
    begun.wait(60)
    try:
        yield
    finally:
        stop.set()
        analyst.join(60)


def _analyse(settings: ProcessSettings, busy: bool, begun: Event, stop: Event) -> None:
    with psycopg.connect(settings.store or "") as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM (SELECT FROM urls LIMIT 1) AS one")
        connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")  # one core is enough to take
        begun.set()
        while busy and not stop.is_set():
            connection.execute(ANALYSIS)
        stop.wait()


# --- which ----------------------------------------------------------------------------------------------------------

ANYWHERE: dict[str, Callable[[Bench], None]] = {
    "host": one_host,
    "hosts": many_hosts,
    "even": even_links,
    "new": many_new,
    "crawls": many_crawls,
    "cap": frontier_cap,
}
VARIANTS = {
    "sqlite": {**ANYWHERE, "writers": four_writers},
    "postgres": {**ANYWHERE, "connections": ten_connections, "analytics": analytics},
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    options.add_argument("--store", choices=sorted(VARIANTS), default="sqlite")
    options.add_argument(
        "--rows", default="1000000,5000000,10000000", help="URLs in the store at which the speed is measured"
    )
    shapes = "; ".join(f"{kind}: growth,{','.join(variants)}" for kind, variants in VARIANTS.items())
    options.add_argument("--only", default="", help=f"of {shapes}")
    options.add_argument("--quick", action="store_true", help="200,000 rows, some two minutes")
    options.add_argument("--profile", action="store_true", help="where the time of the flushes of `growth` goes")
    options.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="of SQLite, on the disk to be measured")
    given = options.parse_args()
    marks = [200_000] if given.quick else [int(mark) for mark in given.rows.split(",")]
    variants = VARIANTS[given.store]
    wanted = given.only.split(",") if given.only else ["growth", *variants]
    print(f"{given.store}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    profile = cProfile.Profile() if given.profile else None
    bench = Bench(given.store, given.folder, QUICK if given.quick else 1, Table())
    if "growth" in wanted:
        growth(bench, marks, profile)
    for name, variant in variants.items():
        if name in wanted:
            variant(bench)
    if profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
