"""How far a crawl is: counts, rate, and when it ends by politeness or by rate. Rate and end are pure functions."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from nephila.clock import Clock
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import QueueRow, WorkerRow
from nephila.frontier.store import Crawl
from nephila.models import (
    ERRORS,
    EXPLAINED_ERRORS,
    HARMLESS_REASONS,
    HTTP_REASONS,
    OPEN,
    REASON_PREFIX,
    REQUISITE_PREFIX,
    SITEMAP_PREFIX,
    TALLY_PREFIXES,
    TERMINAL,
    CrawlState,
    Reason,
    Tally,
    UrlState,
    reason_tally,
)
from nephila.policy.politeness import eta_ms
from nephila.profiles import CrawlSettings
from nephila.urls.identity import hostname_of

WINDOW_MS = 10_000.0
SAMPLES_MAX = 64
QUEUES_MAX = 200
SEEDS_SHOWN = 10
# Counting the queues of a crawl with millions of open URLs is slow: it may take a twentieth of the time.
LOOK_SHARE = 20
# A host bounds the end if its politeness alone takes at least this share of the time that is left.
BOUND_SHARE = 0.5
RESTING_MS = 3000  # a shorter rest is the ordinary pace
RESTING_HOSTS_MAX = 20  # with more hosts hardly all rest, and looking at each costs a query


class Sample(NamedTuple):
    tick_ms: float
    answered: int  # requests


class Bound(NamedTuple):
    """The host whose politeness decides when the crawl ends."""

    host: str
    queued: int
    delay_ms: float


class Resting(NamedTuple):
    """No host may be asked now: the one that is allowed first, in how many ms, and why it rests."""

    host: str
    in_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    crawl: Crawl
    counts: Mapping[str, int]
    rate: float | None  # answers a second while it works: what ends without an answer says nothing of speed
    eta_ms: float | None
    bound: Bound | None
    queues: tuple[QueueRow, ...]
    workers: tuple[WorkerRow, ...]  # that live
    waiting: str = ""  # why nothing can be stored now
    resting: Resting | None = None
    cause: str = ""  # of a crawl that failed: what went wrong last

    @property
    def requisites(self) -> "KindCounts":
        return requisites_of(self.counts)

    @property
    def sitemaps(self) -> "KindCounts":
        return sitemaps_of(self.counts)

    @property
    def ended(self) -> int:
        return ended_of(self.counts)

    @property
    def states(self) -> dict[UrlState, int]:
        """How many URLs ended in each state, those without any left out."""
        return {state: self.counts[state] for state in TERMINAL if self.counts.get(state)}

    @property
    def known(self) -> int:
        """URLs that will end, as far as is known now: at most `max_pages` more are visited."""
        urls = self.counts.get(Tally.URLS, 0)
        max_pages = self.crawl.settings.limits.max_pages
        return urls if max_pages is None else min(urls, self.ended + _pages_left(self.crawl.settings, self.counts))

    def as_json(self, *, final: bool = False) -> dict[str, Any]:
        crawl, counts = self.crawl, self.counts
        found: dict[str, Any] = {
            "crawl": crawl.id,
            "name": crawl.naming.name,
            "labels": crawl.naming.labels,
            "seeds": crawl.seeds[:SEEDS_SHOWN],
            "state": crawl.state,
            "reason": crawl.reason,
            "cause": self.cause,
            "limited_by": crawl.limited_by,
            "active_ms": crawl.active_ms,
        }
        found |= {name: counts.get(name, 0) for name in (Tally.URLS, UrlState.QUEUED, UrlState.IN_PROGRESS)}
        found["states"] = self.states
        found["pages"] = pages_of(counts)
        found |= {name: counts.get(name, 0) for name in (Tally.REQUESTS, Tally.RETRIES, Tally.BYTES)}
        found["errors"] = dict(errors_of(counts))
        found["requisites"], found["sitemaps"] = asdict(self.requisites), asdict(self.sitemaps)
        found["rate"] = None if self.rate is None else round(self.rate, 2)
        found["eta_seconds"] = None if self.eta_ms is None else round(self.eta_ms / 1000, 1)
        found["bounded_by"] = None if self.bound is None else self.bound._asdict()
        found["waiting"] = self.waiting
        found["resting"] = None if self.resting is None else self.resting._asdict()
        found["hosts"] = [asdict(queue) for queue in busiest(self.queues, SEEDS_SHOWN)]
        found["workers"] = [asdict(worker) for worker in self.workers]
        found["final"] = final
        return found


def failure_cause(catalog: Catalog, crawl: Crawl) -> str:
    """What went wrong last and where, in words, if a crawl has failed."""
    noted = catalog.errors(1, crawl.id) if crawl.state is CrawlState.FAILED else []
    if not noted:
        return ""
    what, host = noted[0].detail or noted[0].reason, hostname_of(noted[0].url)
    return what if host in what else f"{host}: {what}"


@dataclass(frozen=True, slots=True)
class KindCounts:
    """URLs of a kind that is counted apart: requisites, sitemaps. All other numbers of URLs are without them."""

    urls: int = 0
    queued: int = 0
    in_progress: int = 0
    states: Mapping[UrlState, int] = field(default_factory=dict)  # those that ended
    broken: int = 0  # of them, with an error
    errors: Mapping[str, int] = field(default_factory=dict)  # as `errors_of`


def requisites_of(counts: Mapping[str, int]) -> KindCounts:
    return _apart(counts, REQUISITE_PREFIX)


def sitemaps_of(counts: Mapping[str, int]) -> KindCounts:
    return _apart(counts, SITEMAP_PREFIX)


def _apart(counts: Mapping[str, int], prefix: str) -> KindCounts:
    own = {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix)}
    if not own:
        return KindCounts()
    opened = (own.get(Tally.URLS, 0), own.get(UrlState.QUEUED, 0), own.get(UrlState.IN_PROGRESS, 0))
    states = {state: own[state] for state in TERMINAL if own.get(state)}
    return KindCounts(*opened, states, failed_of(own), dict(errors_of(own)))


def pages_of(counts: Mapping[str, int]) -> int:
    """Visited, and of a type that the crawl accepts."""
    return counts.get(UrlState.VISITED, 0) - counts.get(reason_tally(Reason.CONTENT_TYPE), 0)


def ended_of(counts: Mapping[str, int]) -> int:
    return sum(counts.get(state, 0) for state in TERMINAL)


def failed_of(counts: Mapping[str, int]) -> int:
    """URLs that ended with an error: forbidden, not_found, http_error, failed."""
    return sum(counts.get(state, 0) for state in ERRORS)


def errors_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """URLs with an error by kind, the most frequent first: states that say it themselves, the reasons of the others.

    They are those that failed (`failed_of`), and those that ended otherwise because something went wrong: excluded as
    robots_unreachable, redirected as redirect_loop or redirect_invalid (docs/observability.md).
    """
    found = {str(state): counts.get(state, 0) for state in EXPLAINED_ERRORS}
    with_reason = sum(counts.get(reason_tally(reason), 0) for reason in HTTP_REASONS)
    found[UrlState.HTTP_ERROR] = max(0, counts.get(UrlState.HTTP_ERROR, 0) - with_reason)
    for name, count in counts.items():
        reason = name.removeprefix(REASON_PREFIX)
        if reason != name and reason not in HARMLESS_REASONS:
            found[reason] = count
    return sorted(((str(kind), n) for kind, n in found.items() if n), key=lambda pair: (-pair[1], pair[0]))


def refusals_by_reason(refusals: Iterable[tuple[str, str, int]]) -> list[tuple[str, int]]:
    """The refused links of (host, reason, number) rows by reason, the most frequent first."""
    counts: Counter[str] = Counter()
    for _, reason, number in refusals:
        counts[reason] += number
    return counts.most_common()


def rate_of(samples: Sequence[Sample]) -> float | None:
    """Requests answered per second between the first and the last sample."""
    if len(samples) < 2 or samples[-1].tick_ms <= samples[0].tick_ms:
        return None
    first, last = samples[0], samples[-1]
    return (last.answered - first.answered) * 1000 / (last.tick_ms - first.tick_ms)


def drop_old(samples: deque[Sample], now: float) -> None:
    """Keep one sample at or before the beginning of the window, so that the window is always full."""
    while len(samples) > 1 and samples[1].tick_ms <= now - WINDOW_MS:
        samples.popleft()


def outlook(
    queues: Sequence[QueueRow], counts: Mapping[str, int], rate: float | None, settings: CrawlSettings
) -> tuple[float | None, Bound | None]:
    """Milliseconds until the crawl ends, by politeness or by the rate, whichever takes longer; and the host that bounds
    them, if one does."""
    left = sum(counts.get(state, 0) for state in OPEN)
    if settings.limits.max_pages is not None:
        left = min(left, _pages_left(settings, counts))
    left += sum(counts.get(prefix + state, 0) for prefix in TALLY_PREFIXES if prefix for state in OPEN)
    rest = max((queue.due_in_ms or 0 for queue in queues if not queue.dead), default=0)
    needs = {queue.host: (min(queue.open, left), gap_of(queue, settings)) for queue in queues}
    polite, host = eta_ms((name, queued, gap) for name, (queued, gap) in needs.items())
    by_rate = left * 1000 / rate if rate else None
    pauses = left * settings.polite.pause_ms
    if by_rate is None and not (polite or rest or pauses):
        return (None if left else 0.0), None
    end = max(polite, by_rate or 0.0, rest, pauses)
    return end, Bound(host, *needs[host]) if host and polite >= end * BOUND_SHARE else None


def first_allowed(waits: Sequence[Resting]) -> Resting | None:
    """The host that may be asked first, if none may be asked within RESTING_MS."""
    first = min(waits, key=lambda wait: wait.in_ms, default=None)
    return first if first is not None and first.in_ms > RESTING_MS else None


def gap_of(queue: QueueRow, settings: CrawlSettings) -> float:
    """The delay of a queue's host; the floor for a host that was not asked yet and has no delay of its own."""
    return float(max(queue.delay_ms, settings.polite.floor_ms))


def busiest(queues: Iterable[QueueRow], count: int) -> list[QueueRow]:
    return sorted(queues, key=lambda queue: (-queue.open, queue.host))[:count]


def slowest(queues: Iterable[QueueRow], count: int) -> list[QueueRow]:
    return sorted(queues, key=lambda queue: (-queue.delay_ms, -queue.open, queue.host))[:count]


def _pages_left(settings: CrawlSettings, counts: Mapping[str, int]) -> int:
    return max(0, (settings.limits.max_pages or 0) - pages_of(counts))


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
        """`exact`: count the queues now, however long that takes."""
        crawl = self._catalog.crawl(self._crawl_id)
        counts = self._catalog.tallies(self._crawl_id)
        now = self._clock.tick_ms()
        if not crawl.state.works:
            self._samples.clear()  # what was before says nothing of the speed now
        self._samples.append(Sample(now, counts.get(Tally.ANSWERED, 0)))
        drop_old(self._samples, now)
        if exact or now >= self._look_tick:
            self._look(now)
        rate = rate_of(self._samples)
        eta, bound = (None, None) if crawl.state.over else outlook(self._queues, counts, rate, crawl.settings)
        workers = tuple(worker for worker in self._catalog.workers() if worker.alive)
        resting = self._resting(counts) if crawl.state is CrawlState.RUNNING else None
        cause = failure_cause(self._catalog, crawl)
        return Snapshot(crawl, counts, rate, eta, bound, self._queues, workers, waiting, resting, cause)

    def _resting(self, counts: Mapping[str, int]) -> Resting | None:
        flying = any(counts.get(prefix + UrlState.IN_PROGRESS) for prefix in TALLY_PREFIXES)
        if flying or len(self._queues) > RESTING_HOSTS_MAX:
            return None
        return first_allowed([self._wait_of(queue) for queue in self._queues])

    def _wait_of(self, queue: QueueRow) -> Resting:
        host = self._catalog.host(queue.host)
        due = queue.due_in_ms or 0
        if host is None:
            return Resting(queue.host, due, "")
        return Resting(queue.host, max(due, host.next_in_ms), host.rest_reason)

    def _look(self, now: float) -> None:
        self._queues = tuple(self._catalog.queues(self._crawl_id, QUEUES_MAX))
        self._look_tick = now + LOOK_SHARE * (self._clock.tick_ms() - now)


def sampled(catalog: Catalog, crawl_id: int, clock: Clock, wait: Callable[[], None]) -> Snapshot:
    """One snapshot. While workers are alive it is a second one after `wait`, so that it has a rate."""
    progress = Progress(catalog, crawl_id, clock)
    first = progress.snapshot(exact=True)
    if first.crawl.state.over or not first.workers:
        return first
    wait()
    return progress.snapshot()
