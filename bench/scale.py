"""Scale by simulation: 1 to 64 workers over 100,000 hosts, by a virtual clock: python -m bench.scale [--only hosts,...]

The worker's scheduler, holdings, politeness and balance are the real ones; the network, the pages and the store are
made up. A worker reads one page after the other on its core, may have CONCURRENCY requests in flight and flushes as
the real one does; a flush takes FLUSH_TAKES_MS. An observer that knows nothing of owners watches every host.
"""

import argparse
import gc
import time
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import exp
from random import Random
from typing import Any

from nephila.frontier.store import Batch, Crawl, Flushed, HostClock, HostRecord, Outcome, Row, Window
from nephila.models import PARTITIONS, CrawlState, Kind, UrlState
from nephila.policy.balance import Lease, balance
from nephila.policy.politeness import Pace, delay_ms, on_success
from nephila.profiles import crawl_settings
from nephila.settings import ProcessSettings, process_settings
from nephila.urls.identity import partition_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.dispatcher import READING_MAX
from nephila.worker.holdings import Holdings
from nephila.worker.pending import Cut
from nephila.worker.scheduler import Host, Queue
from nephila.worker.session import LEASE_EVERY_MS
from nephila.worker.visit import Ending, Visit

WORKERS = (1, 2, 4, 8, 16, 32, 64)
HOT_WORKERS = (2, 3, 4, 8, 16)
HOSTS = 100_000
PAGES_LEAST, PAGES_TAIL, PAGES_MOST = 1, 1.0, 30_000  # of a host, by Pareto's law: most are small, few are huge
LATENCY_MS, LATENCY_SPREAD = 45.0, 0.8  # of a host, log-normal: median and sigma
CORE_MS_A_PAGE = 1000 / 700
FLUSH_TAKES_MS = 40.0
WARM_MS, MEASURED_MS = 3_000.0, 2_000.0
HOT_WARM_MS, HOT_MEASURED_MS = 10_000.0, 10_000.0
JOIN_MS = 4_000.0
SETTLED = 0.95  # of the ideal
ROUNDING = 1e-9  # of ticks that were added up
PAGE, HOT = 1, 2  # the crawls: one for all, one for the hot host
OWN_SITE: dict[str, Any] = {"polite.floor_ms": 0, "polite.adaptive": False, "polite.max_inflight": 16}
HOT_LATENCY_MS = 10.0
HOT_OTHERS = 1_800  # hosts that together bring about as many requests a second as the hot one
ROWS = [Row(number, "", 0, Kind.PAGE, 0, 0, 0, None) for number in range(PAGES_MOST)]


# --- the web, made up -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Web:
    keys: list[str]
    parts: list[int]
    pages: list[int]
    latency_ms: list[float]
    crawls: list[int]

    def cycle_ms(self, index: int) -> float:
        """Milliseconds between two requests to a host that never waits for a worker."""
        latency = self.latency_ms[index]
        if self.crawls[index] == HOT:
            return latency / CRAWLS[HOT].polite.max_inflight
        return latency + delay_ms(Pace(latency_ms=latency), CRAWLS[PAGE].polite)


def _crawl(number: int, overrides: dict[str, Any]) -> LiveCrawl:
    settings = crawl_settings("default", overrides)
    crawl = Crawl(number, "", (), settings, CrawlState.RUNNING, "", "", False, (), 0, None, 0)
    return LiveCrawl(crawl, SETTINGS)


SETTINGS: ProcessSettings = process_settings({})
CRAWLS = {PAGE: _crawl(PAGE, {}), HOT: _crawl(HOT, OWN_SITE)}


def many_hosts(hosts: int = HOSTS, pages_least: int = PAGES_LEAST) -> Web:
    dice = Random(42)
    keys = [f"host{number}.example" for number in range(hosts)]
    pages = [min(int(pages_least * dice.paretovariate(PAGES_TAIL)), PAGES_MOST) for _ in keys]
    latency = [LATENCY_MS * exp(dice.gauss(0.0, LATENCY_SPREAD)) for _ in keys]
    return Web(keys, [partition_of(key) for key in keys], pages, latency, [PAGE] * hosts)


def one_hot_host() -> Web:
    web = many_hosts(HOT_OTHERS, pages_least=40)
    web.pages[0], web.latency_ms[0], web.crawls[0] = PAGES_MOST, HOT_LATENCY_MS, HOT
    return web


# --- who watches ----------------------------------------------------------------------------------------------------


class Observer:
    """Judges requests as the hosts see them. With one request in flight the delay counts from its end."""

    def __init__(self, web: Web) -> None:
        hosts = len(web.keys)
        self.in_flight = [0] * hosts
        self.allowed_from: list[tuple[float, float] | None] = [None] * hosts  # end of the last request, delay
        self.least_gap = float("inf")  # over its delay
        self.most_in_flight = 0

    def started(self, index: int, now: float) -> None:
        self.in_flight[index] += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight[index])
        last = self.allowed_from[index]
        if last is not None and last[1]:
            self.least_gap = min(self.least_gap, (now - last[0]) / last[1])

    def ended(self, index: int, now: float, delay: float) -> None:
        self.in_flight[index] -= 1
        self.allowed_from[index] = (now, delay)


# --- the store, made up ---------------------------------------------------------------------------------------------


class Cluster:
    """A store in memory: owners and offers of partitions, open rows, clocks of hosts."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.live: list[int] = []
        self.owners: dict[int, int | None] = dict.fromkeys(range(PARTITIONS))
        self.offers: dict[int, int] = {}
        self.loads: dict[int, float] = {}
        self.moves = 0
        self.balancing_seconds, self.balanced = 0.0, 0
        self.ended: list[int] = [0] * len(web.keys)  # rows before this one are over
        self._ended_early: dict[int, set[int]] = {}  # rows behind it that are over, too
        self._clocks: dict[str, tuple[float, HostClock]] = {}
        self._due: list[list[tuple[float, int]]] = [[] for _ in range(PARTITIONS)]  # free queues
        self._last_part: dict[int, int] = {}
        self._ever_owned: set[int] = set()
        for index, part in enumerate(web.parts):
            self._due[part].append((0.0, index))
        for queues in self._due:
            heapify(queues)

    def lease(self, me: int, loads: dict[int, float]) -> Lease:
        self.loads.update((part, load) for part, load in loads.items() if self.owners[part] == me)
        began = time.perf_counter()
        moves = balance(me, self.live, self.owners, self.loads, self.offers)
        self.balancing_seconds += time.perf_counter() - began
        self.balanced += 1
        for part in moves.take:
            self.owners[part] = me
            self.offers.pop(part, None)
            self.moves += part in self._ever_owned
        self._ever_owned.update(moves.take)
        self.offers.update(moves.give)
        mine: dict[int, int | None] = {part: None for part, owner in self.owners.items() if owner == me}
        return Lease(mine, [part for part in mine if self.offers.get(part, me) != me], len(self.live))

    def flush(self, me: int, cut: Cut, now: float) -> Flushed:
        batch, answer = cut.batch, Flushed()
        for queue, ending in cut.finished:
            self._end(queue.id, ending.outcome.url_id)
        for clock in batch.clocks:
            self._clocks[clock.host] = (now + clock.next_in_ms, clock)
        for released in batch.released:
            if self.ended[released.queue] < self.web.pages[released.queue]:
                part = self.web.parts[released.queue]
                heappush(self._due[part], (now + released.in_ms, released.queue))
        for part in batch.hand_back:
            self.owners[part] = None
        for refill in batch.refills:
            answer.refills.append(Window(refill.queue, 0, "", self._rows(refill.queue, refill.limit)))
        self._load(me, batch, now, answer)
        return answer

    def _end(self, index: int, row: int) -> None:
        ended = self.ended[index]
        if row != ended:
            self._ended_early.setdefault(index, set()).add(row)
            return
        ended += 1
        early = self._ended_early.get(index)
        while early and ended in early:
            early.discard(ended)
            ended += 1
        self.ended[index] = ended

    def _rows(self, index: int, limit: int) -> list[Row]:
        first, early = self.ended[index], self._ended_early.get(index, set())
        rows = ROWS[first : min(first + limit + len(early), self.web.pages[index])]
        return [row for row in rows if row.id not in early][:limit] if early else rows

    def _load(self, me: int, batch: Batch, now: float, answer: Flushed) -> None:
        """Load some queues of each partition, starting after the one where the last full load stopped."""
        parts = [part for part, owner in self.owners.items() if owner == me] if batch.new_queues else []
        start = bisect(parts, self._last_part.get(me, -1))
        for part in parts[start:] + parts[:start]:
            queues, each = self._due[part], max(1, 4 * batch.new_queues // len(parts))
            while queues and each and queues[0][0] <= now:
                each -= 1
                self._hold(heappop(queues)[1], batch.window, now, answer)
                if len(answer.windows) == batch.new_queues:
                    self._last_part[me] = part
                    return

    def _hold(self, index: int, window: int, now: float, answer: Flushed) -> None:
        key, rows = self.web.keys[index], self._rows(index, window)
        if not rows:
            return
        next_at, clock = self._clocks.get(key, (now, None))
        pace = Pace() if clock is None else clock.pace
        answer.windows.append(Window(index, self.web.crawls[index], key, rows))
        answer.hosts[key] = HostRecord(max(0, int(next_at - now + 0.999)), pace, "", 0, [])

    def possible(self, ms: float) -> float:
        """Pages that politeness and the remaining rows allow in this time."""
        web, ended = self.web, self.ended
        return sum(min(pages - ended[index], ms / web.cycle_ms(index)) for index, pages in enumerate(web.pages))


# --- workers that visit nothing -------------------------------------------------------------------------------------


class Simulation:
    """Events by virtual time: (tick, order, what happens, with what)."""

    def __init__(self, web: Web, seed: int = 7) -> None:
        self.now = 0.0
        self.dice = Random(seed)
        self.web = web
        self.cluster = Cluster(web)
        self.observer = Observer(web)
        self.members: list[Member] = []
        self._events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._order = count()

    def at(self, tick: float, happens: Callable[..., None], *values: object) -> None:
        heappush(self._events, (tick, next(self._order), happens, values))

    def run_until(self, tick: float) -> None:
        events = self._events
        while events and events[0][0] <= tick:
            self.now, _, happens, values = heappop(events)
            happens(*values)
        self.now = tick

    def join(self, workers: int) -> None:
        """Start the workers spread over one lease interval, not all at once."""
        for _ in range(workers):
            member = Member(len(self.members) + 1, self)
            self.members.append(member)
            self.cluster.live.append(member.id)
            self.at(self.now + self.dice.random() * LEASE_EVERY_MS, member.flush, 0)

    def pages(self) -> list[int]:
        return [member.pages for member in self.members]


class Member:
    """`Session` and `Dispatcher` without a network: the same order of calls to the same scheduler and holdings."""

    def __init__(self, id: int, simulation: Simulation) -> None:
        self.id = id
        self.simulation = simulation
        self.held = Holdings(SETTINGS)
        self.held.crawls = CRAWLS
        self.scheduler = self.held.scheduler
        self.pages = 0
        self.fetching = 0
        self.reading = 0
        self._seq = 0
        self._core_free = 0.0
        self._wake: float | None = None
        self._flushing = False
        self._leased = -LEASE_EVERY_MS

    # --- requests

    def dispatch(self) -> None:
        now, scheduler = self.simulation.now, self.scheduler
        while self._has_room():
            picked = scheduler.pop(now)
            if picked is None:
                break
            self._send(*picked, now)
        tick = scheduler.next_tick()
        if tick is not None and self._has_room() and (self._wake is None or tick < self._wake):
            self._wake = max(tick, now)
            self.simulation.at(self._wake, self._woken, self._wake)

    def _has_room(self) -> bool:
        concurrency = CONCURRENCY
        return self.fetching < concurrency and self.fetching + self.reading < concurrency + READING_MAX

    def _woken(self, tick: float) -> None:
        if tick == self._wake:
            self._wake = None
            self.dispatch()

    def _send(self, host: Host, queue: Queue, now: float) -> None:
        simulation, row = self.simulation, self.scheduler.take(queue)
        simulation.observer.started(queue.id, now)
        self.fetching += 1
        self.held.asked[host.part] += 1
        self.scheduler.started(host, now, host.gap_ms(0.0))
        queue.in_flight += 1
        latency = simulation.web.latency_ms[queue.id] * (0.5 + simulation.dice.random())
        simulation.at(now + latency, self._answered, host, queue, row, latency)

    def _answered(self, host: Host, queue: Queue, row: Row, latency: float) -> None:
        simulation, now = self.simulation, self.simulation.now
        self.fetching -= 1
        self.reading += 1
        on_success(host.pace, latency)
        gap = host.gap_ms(0.0)  # the delay itself: neither crawl has jitter
        self.scheduler.finished(host, now, gap)
        simulation.observer.ended(queue.id, now, gap)
        self._core_free = max(self._core_free, now) + CORE_MS_A_PAGE
        simulation.at(self._core_free, self._read, queue, row)
        self.dispatch()

    def _read(self, queue: Queue, row: Row) -> None:
        self.reading -= 1
        self.pages += 1
        queue.in_flight -= 1
        self.held.touched.add(queue)
        outcome = Outcome(row.id, queue.crawl.id, UrlState.VISITED, "", 1)
        self.held.pending.add(queue, row, Visit(Ending(outcome)))
        self.dispatch()
        if self._urgent() and not self._flushing:
            self.flush(self._seq)

    # --- flushes

    def _urgent(self) -> bool:
        results = len(self.held.pending)
        return results >= SETTINGS.flush_results or (results > 0 and not self.scheduler.rows)

    def flush(self, seq: int) -> None:
        if seq != self._seq or self._flushing:
            return  # another came before this timer
        now = self.simulation.now
        self._flushing = True
        self._lease(now)
        self._seq += 1
        cut = self.held.cut(Batch(self._seq), now, hungry=self.fetching < CONCURRENCY)
        self.simulation.at(now + FLUSH_TAKES_MS, self._flushed, cut)

    def _lease(self, now: float) -> None:
        if now - self._leased >= LEASE_EVERY_MS:
            loads = self.held.loads((now - self._leased) / 1000)
            self._leased = now
            self.held.take_lease(self.simulation.cluster.lease(self.id, loads))

    def _flushed(self, cut: Cut) -> None:
        now = self.simulation.now
        self._flushing = False
        self.held.take(cut, self.simulation.cluster.flush(self.id, cut, now), now)
        self.dispatch()
        self.simulation.at(now if self._urgent() else now + SETTINGS.flush_ms, self.flush, self._seq)


CONCURRENCY = SETTINGS.concurrency


# --- the table ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Measured:
    workers: int
    rates: list[float]
    ideal: float
    largest_part: float  # its share of all requests
    moves: int
    moves_late: int
    least_gap: float
    most_in_flight: int
    balance_us: float

    def line(self) -> str:
        rate, mean = sum(self.rates), sum(self.rates) / len(self.rates)
        cells = (
            f"{self.workers}",
            f"{rate:,.0f}",
            f"{rate / self.ideal:.2f}",
            f"{max(self.rates) / mean:.2f}",
            f"{min(self.rates) / mean:.2f}",
            f"{self.largest_part:.3f}",
            f"{self.moves} + {self.moves_late}",
            f"{self.least_gap:.4f}",
            f"{self.most_in_flight}",
            f"{self.balance_us:.0f}",
        )
        return "| " + " | ".join(cells) + " |"


HEAD = (
    "| workers | pages/s | of ideal | fastest / mean | slowest / mean | largest partition | moves, warm + measured "
    "| least gap / delay | in flight at a host | balance() us |\n|---|---|---|---|---|---|---|---|---|---|"
)


def measure(
    web: Web, workers: int, ideal: Callable[[Cluster, int, float], float], warm_ms: float, measured_ms: float
) -> Measured:
    simulation = Simulation(web)
    simulation.join(workers)
    simulation.run_until(warm_ms)
    cluster, before, moves = simulation.cluster, simulation.pages(), simulation.cluster.moves
    best = ideal(cluster, workers, measured_ms)
    simulation.run_until(warm_ms + measured_ms)
    assert simulation.observer.least_gap > 1 - ROUNDING, "a host was asked too early"
    rates = [1000 * (now - then) / measured_ms for now, then in zip(simulation.pages(), before, strict=True)]
    return Measured(
        workers,
        rates,
        best,
        max(cluster.loads.values()) / sum(cluster.loads.values()),
        moves,
        cluster.moves - moves,
        simulation.observer.least_gap,
        simulation.observer.most_in_flight,
        1e6 * cluster.balancing_seconds / cluster.balanced,
    )


def ideal_of_many(cluster: Cluster, workers: int, ms: float) -> float:
    return min(workers * 1000 / CORE_MS_A_PAGE, 1000 * cluster.possible(ms) / ms)


def ideal_with_hot(cluster: Cluster, workers: int, ms: float) -> float:
    """The hot host has a core of its own, the others are spread over the other cores."""
    one, hot = 1000 / CORE_MS_A_PAGE, 1000 / cluster.web.cycle_ms(0)
    others = 1000 * cluster.possible(ms) / ms - hot
    return min(min(hot, one) + others, workers * one)


def hosts() -> None:
    web = many_hosts()
    print(f"\n{HOSTS:,} hosts, {sum(web.pages):,} pages, the largest host {max(web.pages):,}\n\n{HEAD}")
    for workers in WORKERS:
        print(measure(web, workers, ideal_of_many, WARM_MS, MEASURED_MS).line(), flush=True)


def hot() -> None:
    web = one_hot_host()
    print(f"\nOne hot host ({1000 / web.cycle_ms(0):,.0f} requests/s possible) beside {HOT_OTHERS:,} others\n\n{HEAD}")
    for workers in HOT_WORKERS:
        print(measure(web, workers, ideal_with_hot, HOT_WARM_MS, HOT_MEASURED_MS).line(), flush=True)


def joining() -> None:
    """As many workers again join a running cluster: how long until all together reach their full rate."""
    web = many_hosts()
    print("\n| workers | joined by | s until 0.95 of ideal | moves |\n|---|---|---|---|")
    for before, more in ((1, 1), (4, 4), (1, 15)):
        simulation = Simulation(web)
        simulation.join(before)
        simulation.run_until(JOIN_MS)
        simulation.join(more)
        seconds = _until_settled(simulation, (before + more) * 1000 / CORE_MS_A_PAGE)
        print(f"| {before} | {more} | {seconds} | {simulation.cluster.moves} |", flush=True)


def _until_settled(simulation: Simulation, ideal: float, seconds_max: int = 20) -> str:
    for second in range(1, seconds_max + 1):
        before = sum(simulation.pages())
        simulation.run_until(simulation.now + 1000)
        if sum(simulation.pages()) - before >= SETTLED * ideal:
            return str(second)
    return f"> {seconds_max}"


SCENARIOS: dict[str, Callable[[], None]] = {"hosts": hosts, "hot": hot, "joining": joining}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    options.add_argument("--only", default=",".join(SCENARIOS), help=f"of {','.join(SCENARIOS)}")
    wanted = options.parse_args().only.split(",")
    gc.disable()  # 100,000 hosts would be looked at again and again; what ends is freed by counting
    print(
        f"virtual: {1000 / CORE_MS_A_PAGE:.0f} pages/s a core, {CONCURRENCY} requests in flight a worker; "
        f"{MEASURED_MS / 1000:g} s measured after {WARM_MS / 1000:g} s, the hot host {HOT_MEASURED_MS / 1000:g} s "
        f"after {HOT_WARM_MS / 1000:g} s"
    )
    for name, scenario in SCENARIOS.items():
        if name in wanted:
            scenario()


if __name__ == "__main__":
    main()
