"""Which host may be asked next: a heap of hosts by their next allowed time. Pure: ticks come in, nothing here waits.

A host is in the heap at most once, exactly while it has a row that may be sent and a free slot. A cooling host stays
deep in the heap, so it can never hide a ready one.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count

from nephila.frontier.store import Row
from nephila.policy.politeness import Pace, delay_ms, gap_ms
from nephila.worker.crawls import LiveCrawl
from nephila.worker.robots_gate import RobotsGate


class Queue:
    """The rows of one crawl at one host that this worker holds."""

    __slots__ = ("crawl", "fetched", "held", "host", "id", "in_flight", "leaving", "more", "rows", "window")

    def __init__(self, id: int, crawl: LiveCrawl, host: "Host", fetched: int) -> None:
        self.id = id
        self.crawl = crawl
        self.host = host
        self.fetched = fetched
        self.rows: deque[Row] = deque()
        self.held: set[int] = set()  # ids in rows, in flight, or with an outcome that is not committed yet
        self.in_flight = 0  # visits, also while they parse, and a look-up of its host's name
        self.window = 0  # rows of the next refill
        self.more = True  # the store may have rows that we do not hold
        self.leaving = ""  # the reason why it goes back as soon as nothing of it is in flight

    def sendable(self) -> bool:
        if not self.rows or self.leaving:
            return False
        if self.crawl.may_send():
            return True
        self.crawl.starved = True
        return False


class Host:
    """One politeness key: its clock over all crawls, its robots gates."""

    __slots__ = (
        "addresses",
        "blocked_until",
        "entry",
        "gates",
        "in_flight",
        "key",
        "next_tick",
        "pace",
        "part",
        "queues",
        "requests",
        "reserved",
        "rest_reason",
        "turn",
    )

    def __init__(self, key: str, part: int, next_tick: float, pace: Pace, requests: int, rest_reason: str) -> None:
        self.key = key
        self.part = part
        self.next_tick = next_tick
        self.pace = pace
        self.requests = requests
        self.rest_reason = rest_reason
        self.blocked_until = 0.0  # tick, by an operator's word, which he may take back
        self.in_flight = 0  # requests
        self.reserved = 0  # visits that wait here for their next hop: they come before new rows
        self.entry: float | None = None  # tick of its valid entry in the heap
        self.queues: dict[int, Queue] = {}  # by crawl
        self.turn: deque[int] = deque()  # crawls, the next one first
        self.gates: dict[str, RobotsGate] = {}
        self.addresses = ("", "")  # found by DNS: addresses, CNAME chain

    @property
    def allowed_tick(self) -> float:
        """When it may be asked next."""
        return max(self.next_tick, self.blocked_until)

    def add(self, queue: Queue) -> None:
        self.queues[queue.crawl.id] = queue
        self.turn.append(queue.crawl.id)

    def remove(self, queue: Queue) -> None:
        del self.queues[queue.crawl.id]
        self.turn.remove(queue.crawl.id)

    def next_queue(self) -> Queue | None:
        """Round robin over the crawls that have something to send."""
        for _ in range(len(self.turn)):
            queue = self.queues[self.turn[0]]
            self.turn.rotate(-1)
            if queue.sendable():
                return queue
        return None

    def has_something_to_send(self) -> bool:
        return any(queue.sendable() for queue in self.queues.values())

    def in_flight_max(self) -> int:
        """Of two crawls on one host the smaller number holds."""
        limits = [queue.crawl.polite.max_inflight for queue in self.queues.values()]
        return min(limits) if limits else 1

    def delay_ms(self) -> float:
        return max((delay_ms(self.pace, queue.crawl.polite) for queue in self.queues.values()), default=0.0)

    def gap_ms(self, random: float) -> float:
        """Of two crawls on one host the larger delay holds."""
        return max((gap_ms(self.pace, queue.crawl.polite, random) for queue in self.queues.values()), default=0.0)


class Scheduler:
    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.queues: dict[int, Queue] = {}
        self.rows = 0  # waiting in windows
        self._dirty: set[Host] = set()  # whose clock has changed since it was last written
        self._heap: list[tuple[float, int, Host]] = []
        self._order = count()

    # --- what is held

    def add_queue(self, queue: Queue, rows: list[Row]) -> None:
        self.queues[queue.id] = queue
        queue.host.add(queue)
        self.hosts[queue.host.key] = queue.host
        self.add_rows(queue, rows)

    def add_rows(self, queue: Queue, rows: list[Row]) -> int:
        """Rows that are not held already; how many."""
        fresh = [row for row in rows if row.id not in queue.held]
        queue.held.update(row.id for row in fresh)
        queue.rows.extend(fresh)
        self.rows += len(fresh)
        self.refresh(queue.host)
        return len(fresh)

    def take(self, queue: Queue) -> Row:
        self.rows -= 1
        return queue.rows.popleft()

    def put_back(self, queue: Queue, row: Row) -> None:
        self.rows += 1
        queue.rows.appendleft(row)

    def drop_rows(self, queue: Queue) -> None:
        """Forget what is not in flight: the rows stay open in the store."""
        self.rows -= len(queue.rows)
        queue.held.difference_update(row.id for row in queue.rows)
        queue.rows.clear()

    def remove_queue(self, queue: Queue) -> None:
        self.drop_rows(queue)
        del self.queues[queue.id]
        queue.host.remove(queue)
        if not queue.host.queues:
            queue.host.entry = None
            self.hosts.pop(queue.host.key, None)

    # --- the clock

    def refresh(self, host: Host) -> None:
        """Put the host where it belongs after anything about it changed."""
        if host.reserved or host.in_flight >= host.in_flight_max() or not host.has_something_to_send():
            host.entry = None
        elif host.entry != host.allowed_tick:
            host.entry = host.allowed_tick
            heappush(self._heap, (host.entry, next(self._order), host))

    def pop(self, now: float) -> tuple[Host, Queue] | None:
        """The host that has been allowed the longest, and whose turn it is there."""
        while self._heap and self._heap[0][0] <= now:
            tick, _, host = heappop(self._heap)
            if host.entry != tick:
                continue  # an older entry of a host that has moved
            host.entry = None
            queue = host.next_queue()
            if queue is not None:
                return host, queue
        return None

    def next_tick(self) -> float | None:
        while self._heap:
            tick, _, host = self._heap[0]
            if host.entry == tick:
                return tick
            heappop(self._heap)
        return None

    def started(self, host: Host, now: float, gap: float) -> None:
        """Where several requests may be in flight the delay counts from starts."""
        host.in_flight += 1
        host.requests += 1
        self._dirty.add(host)
        host.next_tick = max(host.next_tick, now + gap)
        self.refresh(host)

    def finished(self, host: Host, now: float, gap: float) -> None:
        """Of a single request it counts from the end."""
        host.in_flight -= 1
        self._dirty.add(host)
        if host.in_flight_max() == 1:
            host.next_tick = max(host.next_tick, now + gap)
        self.refresh(host)

    def rest(self, host: Host, until: float, reason: str) -> None:
        host.rest_reason = reason
        host.next_tick = max(host.next_tick, until)
        self._dirty.add(host)
        self.refresh(host)

    def take_dirty(self) -> list[Host]:
        """Hosts whose clock is to be written."""
        dirty, self._dirty = self._dirty, set()
        return list(dirty)

    def resting(self, beyond: float) -> Iterator[Host]:
        """Hosts whose next time is far away: their memory is worth more than their place in it."""
        return (host for host in list(self.hosts.values()) if host.allowed_tick > beyond and host.in_flight == 0)
