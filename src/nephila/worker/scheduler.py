"""`Scheduler` says which host may be asked next: a heap of hosts by their next allowed time. Pure: ticks come in.

A host is in the heap at most once, exactly while it has a row that may be sent and a free slot, and few of its bodies
wait to be read. A cooling host stays deep in the heap, so it can never hide a ready one.
"""

from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from heapq import heappop, heappush
from itertools import count

from nephila.frontier.store import Row
from nephila.policy.politeness import Pace, delay_ms, gap_ms
from nephila.policy.robots_gate import RobotsGate
from nephila.worker.crawls import LiveCrawl

# Bodies of one host that wait to be read: beyond, nothing is asked of it until one of them is read. Where they wait
# long there are few: more would be read no sooner.
UNREAD_BYTES_MAX = 2 << 20
UNREAD_MAX, UNREAD_LATE_MAX = 32, 4
LATE_MS = 100.0


class Leaving(Enum):
    """Why a queue goes back to the store."""

    EMPTY = auto()  # it comes back as soon as it has rows
    REST = auto()  # its host rests for long
    PAUSED = auto()  # its crawl may not run
    HANDED_BACK = auto()  # with its partition
    AWAITS_ROBOTS = auto()  # the owner of another host answers
    GIVEN_UP = auto()  # the store ends its rows


class Queue:
    """The rows of one crawl at one host that this worker holds."""

    __slots__ = (
        "crawl",
        "fetched",
        "fetched_stored",
        "held",
        "host",
        "id",
        "in_flight",
        "leaving",
        "more",
        "rows",
        "window",
    )

    def __init__(self, id: int, crawl: LiveCrawl, host: "Host", fetched: int) -> None:
        self.id = id
        self.crawl = crawl
        self.host = host
        self.fetched = fetched  # requests for its URLs
        self.fetched_stored = fetched  # as the store knows it, or learns with the flush under way
        self.rows: deque[Row] = deque()
        self.held: set[int] = set()  # ids in rows, in flight, or with an outcome that is not committed yet
        self.in_flight = 0  # visits, also while they parse, and a look-up of its host's name
        self.window = 0  # rows of the next refill
        self.more = True  # the store may have rows that we do not hold
        self.leaving: Leaving | None = None  # why it goes back as soon as nothing of it is in flight

    def sendable(self) -> bool:
        if not self.rows or self.leaving:
            return False
        if self.crawl.may_send() or (self.crawl.running and not self.rows[0].kind.traits.page):
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
        "late",
        "next_tick",
        "only",
        "pace",
        "parked",
        "part",
        "queues",
        "read_tick",
        "requests",
        "reserved",
        "rest_reason",
        "turn",
        "unread",
        "unread_bytes",
    )

    def __init__(self, key: str, part: int, next_tick: float, pace: Pace, requests: int, rest_reason: str) -> None:
        self.key = key
        self.part = part
        self.next_tick = next_tick
        self.pace = pace
        self.requests = requests
        self.rest_reason = rest_reason
        self.blocked_until = 0.0  # tick, by an operator's host rule, which may be taken back
        self.in_flight = 0  # requests
        self.unread = self.unread_bytes = 0  # its bodies that wait to be read
        self.late = False  # the last one that was read had waited long
        self.read_tick = 0.0  # when it was read, or the first of those that wait came
        self.parked = False  # out of the heap until a body is read
        self.reserved = 0  # visits that wait here for their next hop: they come before new rows
        self.entry: float | None = None  # tick of its valid entry in the heap
        self.queues: dict[int, Queue] = {}  # by crawl
        self.only: Queue | None = None  # of these, where there is one: it is asked some ten times a page
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
        self._see_only()

    def remove(self, queue: Queue) -> None:
        del self.queues[queue.crawl.id]
        self.turn.remove(queue.crawl.id)
        self._see_only()

    def _see_only(self) -> None:
        self.only = next(iter(self.queues.values())) if len(self.queues) == 1 else None

    def next_queue(self, now: float) -> Queue | None:
        """Round robin over the crawls that have something to send and do not pause."""
        if (only := self.only) is not None:
            return only if only.crawl.resume_tick <= now and only.sendable() else None
        for _ in range(len(self.turn)):
            queue = self.queues[self.turn[0]]
            self.turn.rotate(-1)
            if queue.crawl.resume_tick <= now and queue.sendable():
                return queue
        return None

    def resume_tick(self) -> float | None:
        """When the first of its crawls that have something to send goes on."""
        return min((queue.crawl.resume_tick for queue in self.queues.values() if queue.sendable()), default=None)

    def has_something_to_send(self) -> bool:
        only = self.only
        return only.sendable() if only is not None else any(queue.sendable() for queue in self.queues.values())

    def unread_enough(self, now: float) -> bool:
        """So many of its bodies wait to be read that nothing more is to be asked of it."""
        late = self.late or now - self.read_tick > LATE_MS
        return self.unread_bytes >= UNREAD_BYTES_MAX or self.unread >= (UNREAD_LATE_MAX if late else UNREAD_MAX)

    def in_flight_max(self) -> int:
        """Requests that may be in flight: of two crawls on one host the smaller number holds."""
        if (only := self.only) is not None:
            return only.crawl.polite.max_inflight
        return min((queue.crawl.polite.max_inflight for queue in self.queues.values()), default=1)

    def delay_ms(self, pace: Pace) -> float:
        """The delay with this pace: of two crawls on one host the larger one holds."""
        return max((delay_ms(pace, queue.crawl.polite) for queue in self.queues.values()), default=0.0)

    def gap_ms(self, random: float) -> float:
        """The delay with its jitter: of two crawls on one host the larger one holds."""
        if (only := self.only) is not None:
            return gap_ms(self.pace, only.crawl.polite, random)
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
        """Add the rows that are not held already; answers how many."""
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
        if host.reserved or host.parked or host.in_flight >= host.in_flight_max() or not host.has_something_to_send():
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
            if host.unread and host.unread_enough(now):
                host.parked = True
                continue
            queue = host.next_queue(now)
            if queue is not None:
                return host, queue
            resumed = host.resume_tick()
            if resumed is not None:  # all of them pause: the host waits with them
                host.entry = resumed
                heappush(self._heap, (resumed, next(self._order), host))
        return None

    def next_tick(self) -> float | None:
        while self._heap:
            tick, _, host = self._heap[0]
            if host.entry == tick:
                return tick
            heappop(self._heap)
        return None

    def started(self, host: Host, now: float, gap: float) -> None:
        """A request started. Where several may be in flight the delay counts from here."""
        host.in_flight += 1
        host.requests += 1
        self._dirty.add(host)
        host.next_tick = max(host.next_tick, now + gap)
        self.refresh(host)

    def began(self, host: Host, now: float, gap: float) -> None:
        """The request that was started goes out now: the delay counts from here."""
        host.next_tick = max(host.next_tick, now + gap)
        self.refresh(host)

    def finished(self, host: Host, now: float, gap: float) -> None:
        """A request ended. Where only one may be in flight the delay counts from here."""
        host.in_flight -= 1
        self._dirty.add(host)
        if host.in_flight_max() == 1:
            host.next_tick = max(host.next_tick, now + gap)
        self.refresh(host)

    def waits(self, host: Host, body_bytes: int, now: float) -> None:
        """A body of the host waits to be read. The heap is left alone: most are read in the same moment."""
        if not host.unread:
            host.read_tick = now
        host.unread += 1
        host.unread_bytes += body_bytes

    def read(self, host: Host, body_bytes: int, since: float, now: float) -> None:
        """It was read, after it had waited since then."""
        host.unread -= 1
        host.unread_bytes -= body_bytes
        host.late, host.read_tick = now - since > LATE_MS, now
        if host.parked:
            host.parked = False
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
        """Hosts whose next time is beyond this tick: they may leave memory, since reloading costs less than keeping."""
        return (host for host in list(self.hosts.values()) if host.allowed_tick > beyond and host.in_flight == 0)
