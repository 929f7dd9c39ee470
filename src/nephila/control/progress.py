"""How far a crawl is: counts, rate, and an end that knows politeness. Rate and end are pure functions."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from nephila.clock import Clock
from nephila.frontier.store import Catalog, Crawl, QueueRow, WorkerRow
from nephila.models import CrawlState, Reason, UrlState
from nephila.policy.politeness import eta_ms
from nephila.profiles import CrawlSettings

WINDOW_MS = 10_000.0
SAMPLES_MAX = 64
QUEUES_MAX = 200
SEEDS_SHOWN = 10
# Counting the queues of a crawl with millions of open URLs takes long: it may use a twentieth of the time.
LOOK_SHARE = 20
# A host bounds the end where politeness alone explains at least this much of it.
BOUND_SHARE = 0.5
RESTING_MS = 3000  # a shorter rest is the ordinary pace
RESTING_HOSTS_MAX = 20  # of more hosts hardly all rest, and each costs a look

TERMINAL = tuple(state for state in UrlState if state.terminal)
# These end a URL without anything having gone wrong.
NO_ERRORS = frozenset(
    (
        Reason.ROBOTS,
        Reason.CRAWL_DELAY,
        Reason.LIMIT_PAGES,
        Reason.LIMIT_TIME,
        Reason.LIMIT_BYTES,
        Reason.LIMIT_HOST,
        Reason.DEPTH,
        Reason.RULE,
        Reason.CANCELLED,
        Reason.REDIRECT_OUT_OF_SCOPE,
    )
)
REASON_PREFIX = "reason:"


class Sample(NamedTuple):
    tick_ms: float
    ended: int


class Bound(NamedTuple):
    """The host whose politeness decides when the crawl ends."""

    host: str
    queued: int
    delay_ms: float


class Resting(NamedTuple):
    """Nothing can be asked for now: the host that is allowed first, in how long, and why it rests."""

    host: str
    in_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    crawl: Crawl
    counts: Mapping[str, int]
    rate: float | None  # URLs ended per second
    eta_ms: float | None
    bound: Bound | None
    queues: tuple[QueueRow, ...]
    workers: tuple[WorkerRow, ...]  # that live
    waiting: str = ""  # why nothing can be stored now
    resting: Resting | None = None

    @property
    def ended(self) -> int:
        return ended_of(self.counts)

    @property
    def known(self) -> int:
        """URLs that will end, as far as is known now."""
        urls = self.counts.get("urls", 0)
        max_pages = self.crawl.settings.limits.max_pages
        return urls if max_pages is None else min(urls, self.ended + _pages_left(self.crawl.settings, self.counts))

    def as_json(self, *, final: bool = False) -> dict[str, Any]:
        crawl, counts = self.crawl, self.counts
        found: dict[str, Any] = {
            "crawl": crawl.id,
            "seeds": crawl.seeds[:SEEDS_SHOWN],
            "state": crawl.state,
            "reason": crawl.reason,
            "limited_by": crawl.limited_by,
            "active_ms": crawl.active_ms,
        }
        found |= {name: counts.get(name, 0) for name in ("urls", "queued", "in_progress")}
        found["states"] = {state: counts[state] for state in TERMINAL if counts.get(state)}
        found |= {name: counts.get(name, 0) for name in ("requests", "retries", "bytes")}
        found["errors"] = dict(errors_of(counts))
        found["rate"] = None if self.rate is None else round(self.rate, 2)
        found["eta_seconds"] = None if self.eta_ms is None else round(self.eta_ms / 1000, 1)
        found["bounded_by"] = None if self.bound is None else self.bound._asdict()
        found["waiting"] = self.waiting
        found["resting"] = None if self.resting is None else self.resting._asdict()
        found["hosts"] = [asdict(queue) for queue in busiest(self.queues, SEEDS_SHOWN)]
        found["workers"] = [asdict(worker) for worker in self.workers]
        found["final"] = final
        return found


def ended_of(counts: Mapping[str, int]) -> int:
    return sum(counts.get(state, 0) for state in TERMINAL)


def errors_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Errors by kind, the most frequent first: states that say it themselves, and the reasons of the others."""
    found = {str(state): counts.get(state, 0) for state in (UrlState.NOT_FOUND, UrlState.FORBIDDEN)}
    for name, count in counts.items():
        reason = name.removeprefix(REASON_PREFIX)
        if reason != name and reason not in NO_ERRORS:
            found[reason] = count
    return sorted(((kind, count) for kind, count in found.items() if count), key=lambda pair: (-pair[1], pair[0]))


def rate_of(samples: Sequence[Sample]) -> float | None:
    """URLs ended per second between the first and the last sample."""
    if len(samples) < 2 or samples[-1].tick_ms <= samples[0].tick_ms:
        return None
    first, last = samples[0], samples[-1]
    return (last.ended - first.ended) * 1000 / (last.tick_ms - first.tick_ms)


def drop_old(samples: deque[Sample], now: float) -> None:
    """Keep one sample at or before the beginning of the window, so that the window is always full."""
    while len(samples) > 1 and samples[1].tick_ms <= now - WINDOW_MS:
        samples.popleft()


def outlook(
    queues: Sequence[QueueRow], counts: Mapping[str, int], rate: float | None, settings: CrawlSettings
) -> tuple[float | None, Bound | None]:
    """When it ends, by politeness or by the rate, whichever takes longer; and the host that decides, if one does."""
    left = counts.get("queued", 0) + counts.get("in_progress", 0)
    if settings.limits.max_pages is not None:
        left = min(left, _pages_left(settings, counts))
    rest = max((queue.due_in_ms or 0 for queue in queues if not queue.dead), default=0)
    needs = {queue.host: (min(queue.open, left), gap_of(queue, settings)) for queue in queues}
    polite, host = eta_ms((name, queued, gap) for name, (queued, gap) in needs.items())
    by_rate = left * 1000 / rate if rate else None
    if by_rate is None and not polite and not rest:
        return (None if left else 0.0), None
    end = max(polite, by_rate or 0.0, rest)
    return end, Bound(host, *needs[host]) if host and polite >= end * BOUND_SHARE else None


def first_allowed(waits: Sequence[Resting]) -> Resting | None:
    """The host that may be asked first, where none may be for a while."""
    first = min(waits, key=lambda wait: wait.in_ms, default=None)
    return first if first is not None and first.in_ms > RESTING_MS else None


def gap_of(queue: QueueRow, settings: CrawlSettings) -> float:
    """A host that was not asked yet has no delay of its own."""
    return float(max(queue.delay_ms, settings.polite.floor_ms))


def busiest(queues: Iterable[QueueRow], count: int) -> list[QueueRow]:
    return sorted(queues, key=lambda queue: (-queue.open, queue.host))[:count]


def slowest(queues: Iterable[QueueRow], count: int) -> list[QueueRow]:
    return sorted(queues, key=lambda queue: (-queue.delay_ms, -queue.open, queue.host))[:count]


def _pages_left(settings: CrawlSettings, counts: Mapping[str, int]) -> int:
    return max(0, (settings.limits.max_pages or 0) - counts.get(UrlState.VISITED, 0))


class Progress:
    """Successive snapshots of one crawl."""

    def __init__(self, catalog: Catalog, crawl_id: int, clock: Clock) -> None:
        self._catalog = catalog
        self._crawl_id = crawl_id
        self._clock = clock
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)
        self._queues: tuple[QueueRow, ...] = ()
        self._look_tick = float("-inf")

    def snapshot(self, waiting: str = "", *, exact: bool = False) -> Snapshot:
        """`exact`: look at the queues whatever it costs."""
        crawl = self._catalog.crawl(self._crawl_id)
        counts = self._catalog.tallies(self._crawl_id)
        now = self._clock.tick_ms()
        self._samples.append(Sample(now, ended_of(counts)))
        drop_old(self._samples, now)
        if exact or now >= self._look_tick:
            self._look(now)
        rate = rate_of(self._samples)
        eta, bound = (None, None) if crawl.state.over else outlook(self._queues, counts, rate, crawl.settings)
        workers = tuple(worker for worker in self._catalog.workers() if worker.alive)
        resting = self._resting(counts) if crawl.state is CrawlState.RUNNING else None
        return Snapshot(crawl, counts, rate, eta, bound, self._queues, workers, waiting, resting)

    def _resting(self, counts: Mapping[str, int]) -> Resting | None:
        if counts.get("in_progress") or len(self._queues) > RESTING_HOSTS_MAX:
            return None
        return first_allowed([self._wait_of(queue) for queue in self._queues])

    def _wait_of(self, queue: QueueRow) -> Resting:
        host = self._catalog.host(queue.host)
        due = queue.due_in_ms or 0
        return (
            Resting(queue.host, max(due, host.next_in_ms), host.rest_reason) if host else Resting(queue.host, due, "")
        )

    def _look(self, now: float) -> None:
        self._queues = tuple(self._catalog.queues(self._crawl_id, QUEUES_MAX))
        self._look_tick = now + LOOK_SHARE * (self._clock.tick_ms() - now)


def sampled(catalog: Catalog, crawl_id: int, clock: Clock, wait: Callable[[], None]) -> Snapshot:
    """One snapshot; with a rate, by a second one after `wait`, only where workers are alive."""
    progress = Progress(catalog, crawl_id, clock)
    first = progress.snapshot(exact=True)
    if first.crawl.state.over or not first.workers:
        return first
    wait()
    return progress.snapshot()
