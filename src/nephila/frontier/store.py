"""The seam between a worker and the database, lists in and lists out; `Upkeep` may run anywhere.

What the command line and the API read and write is beside it, split by caller: crawls.py, listings.py, hosts.py,
archive_index.py (their sum is catalog.py), operators.py, tokens.py. All are synchronous: the worker calls `Frontier`
from its flush thread, so a slow database never blocks the event loop. tests/contract is their real definition.

All times that cross this seam are RELATIVE milliseconds ("in 1,500 ms"), so that a worker's wrong wall clock can break
neither a lease nor a host's rest; the store adds its own clock. Stamps that are only shown (fetched_at) are absolute.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from nephila.frontier.operators import Rulings
from nephila.models import Child, CrawlState, Kind, PageRecord, UrlState
from nephila.policy.balance import Lease
from nephila.policy.politeness import Pace
from nephila.profiles import CrawlSettings

ERRORS_PER_FLUSH = 50  # more would only push each other out of the list
EXAMPLES_EACH = 3  # refused links that are kept of each host, reason and rule
ERRORS_KEPT = 10_000  # upkeep forgets the older ones
KEYS_KEPT_MS = 24 * 3600 * 1000  # a request that comes again later is a new one
SLOT_MS = 5000  # of `throughput`
THROUGHPUT_KEPT_MS = 3600 * 1000
WORKERS_KEPT = 20  # sessions that have ended, the latest, for the list of workers
FORGET_EVERY_MS = 10_000  # how often upkeep looks for what is too old
FORGET_ROWS = 20_000  # of one kind at a time: a transaction stays short


# --- what a worker says and hears -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    name: str
    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class Vitals:
    """Figures of a worker's process. They are shown; nothing is decided by them."""

    pages: int = 0  # answered and ended in this session
    pages_per_s: float = 0.0
    cpu: float = 0.0  # cores in use
    rss_bytes: int = 0
    received_per_s: float = 0.0  # bytes
    sent_per_s: float = 0.0


class Row(NamedTuple):
    """An open URL as the worker holds it."""

    id: int
    url: str
    depth: int
    kind: Kind
    hops: int
    tries: int
    crashes: int
    raw: str | None
    limited: int = 0  # of the tries: those that a rate limit answered and that do not count
    spelling: str | None = None  # the address as it was found, where it is not `url`

    @property
    def address(self) -> str:
        """What the server is asked for. `url` is what identifies the row."""
        return self.spelling or self.url


@dataclass(slots=True)
class Outcome:
    """The end of a URL. Parent and children commit together; without the permit (an open row) neither does."""

    url_id: int
    crawl: int
    state: UrlState
    reason: str
    tries: int
    page: PageRecord | None = None
    children: list[Child] = field(default_factory=list)
    counts: bool = True  # as a page; a robots.txt does not
    kind: Kind = Kind.PAGE


@dataclass(frozen=True, slots=True)
class Retry:
    url_id: int
    crawl: int
    in_ms: int
    tries: int
    crashes: int
    reason: str
    limited: int = 0  # as Row.limited


@dataclass(frozen=True, slots=True)
class HostClock:
    """The politeness clock of a host: its owner keeps it over a crash, listings show it."""

    host: str
    next_in_ms: int
    delay_ms: int
    pace: Pace
    rest_reason: str
    requests: int
    addresses: str = ""
    cnames: str = ""


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """The answer to robots.txt of one origin. `failures` counts attempts in a row that had no answer."""

    origin: str
    host: str
    access: str  # rules | allow_all | hold | pending (redirected to another host, not yet answered)
    status: int | None
    body: bytes
    expires_in_ms: int
    failures: int = 0
    detail: str = ""
    fetched_at: int = 0


@dataclass(frozen=True, slots=True)
class Release:
    """A queue that its holder gives back. It is due at its first open row, not before `in_ms`."""

    queue: int
    in_ms: int
    fetched: int


@dataclass(frozen=True, slots=True)
class Refill:
    """A held queue whose window runs low. The first `limit` open rows come back, those already held among them."""

    queue: int
    limit: int


@dataclass(frozen=True, slots=True)
class ErrorNote:
    """A visit that went wrong, for the list of errors; `reason` and `detail` say how."""

    crawl: int
    url_id: int
    reason: str
    detail: str
    tries: int


class RefusedLink(NamedTuple):
    """A link that was refused, as an example of others."""

    crawl: int
    reason: str
    rule: str  # which of several rules refused it, in words; empty: the reason says it all
    host: str
    url: str  # up to EXAMPLE_CHARS_MAX: it is part of a key
    found_on: int | None  # url id of the page


class SitemapEntry(NamedTuple):
    """What a sitemap says of a URL that it lists; the URL has a row, or gets one in the same flush."""

    crawl: int
    host: str  # politeness key
    key: bytes
    sitemap: int  # url id
    lastmod: int | None  # ms since 1970
    priority: float | None
    notes: str | None  # JSON


@dataclass(slots=True)
class Batch:
    """Everything one flush commits, and what it asks for. By its `seq` it may be sent again after any error."""

    seq: int
    outcomes: list[Outcome] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    # That no outcome brings: robots rows, sitemaps, and what a sitemap lists whose row is still open.
    children: list[Child] = field(default_factory=list)
    entries: list[SitemapEntry] = field(default_factory=list)
    clocks: list[HostClock] = field(default_factory=list)
    # Looked up by name without a request: of a host that the store knows only addresses and names change.
    resolved: list[HostClock] = field(default_factory=list)
    robots: list[RobotsRecord] = field(default_factory=list)
    released: list[Release] = field(default_factory=list)
    fetched: list[tuple[int, int]] = field(default_factory=list)  # held queue, requests for its URLs so far
    # Queue, reason (host_dead, limit_host): the store ends its rows in chunks.
    deaths: list[tuple[int, str]] = field(default_factory=list)
    tallies: dict[tuple[int, str], int] = field(default_factory=dict)
    refusals: dict[tuple[int, str, str], int] = field(default_factory=dict)
    refused_rules: dict[tuple[int, str, str], int] = field(default_factory=dict)  # of them, by crawl, reason and rule
    refused_links: list[RefusedLink] = field(default_factory=list)
    joined_hosts: list[tuple[int, str]] = field(default_factory=list)
    errors: list[ErrorNote] = field(default_factory=list)  # up to ERRORS_PER_FLUSH
    errors_more: int = 0  # that are not among these
    archive_files: list[tuple[str, int]] = field(default_factory=list)  # name, bytes
    in_flight: list[tuple[int, int]] = field(default_factory=list)  # url id, since ms: display only
    control_seen: int = 0
    hand_back: list[int] = field(default_factory=list)  # partitions with nothing held and nothing in flight
    grants_wanted: dict[int, int] = field(default_factory=dict)  # crawl -> pages in hand that it would like to have
    holding: list[int] | None = None  # after a lost answer: the queues really held; all others marked as ours are freed
    refills: list[Refill] = field(default_factory=list)
    new_queues: int = 0  # how many more queues to load
    window: int = 0  # rows of each
    next_due: bool = False


@dataclass(slots=True)
class Window:
    """Rows of one queue, handed to the owner of its host."""

    queue: int
    crawl: int
    host: str
    rows: list[Row]
    fetched: int = 0


@dataclass(slots=True)
class HostRecord:
    next_in_ms: int
    pace: Pace
    rest_reason: str
    requests: int
    robots: list[RobotsRecord]
    resolved: bool = False  # its addresses are stored


@dataclass(slots=True)
class Flushed:
    repeated: bool = False  # the batch had been committed before: its answer was lost, what it loaded is not repeated
    refills: list[Window] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    hosts: dict[str, HostRecord] = field(default_factory=dict)
    arrived: list[int] = field(default_factory=list)  # held queues that got rows from others
    grants: dict[int, int] = field(default_factory=dict)
    refused_outcomes: int = 0  # had no permit any more
    # Crawl and key of the links that max_frontier refused: they are not stored, and may come again.
    crowded_out: set[tuple[int, bytes]] = field(default_factory=set)
    control: int = 0
    next_due_in_ms: int | None = None
    valid_ms: float | None = None  # the lease was renewed, too: as Lease.valid_ms


class Frontier(Protocol):
    """The worker's side. One session per instance."""

    def join(self, info: WorkerInfo) -> int:
        """Begin a new session; answers the worker's id."""

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        """Renew, fence the dead, take free partitions, learn which to hand back. `loads`: requests a second of each."""

    def flush(self, batch: Batch) -> Flushed:
        """One transaction, fenced by the session's flush sequence. Raises Fenced, StoreUnavailable."""

    def leave(self) -> None:
        """End the session: everything held is free at once."""

    def controls(self) -> "list[Crawl]":
        """All crawls that are not over."""

    def rulings(self) -> Rulings:
        """What operators decided; asked anew when the control version has moved."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What people call a crawl. Checked by control/naming.py."""

    name: str = ""
    labels: tuple[str, ...] = ()  # sorted


UNNAMED = Naming()


@dataclass(frozen=True, slots=True)
class Crawl:
    id: int
    uuid: str
    seeds: tuple[str, ...]
    settings: CrawlSettings
    state: CrawlState
    reason: str
    limited_by: str
    seeding: bool
    joined_hosts: tuple[str, ...]
    created_at: int
    ended_at: int | None
    active_ms: int
    allowed_hosts: tuple[str, ...] = ()  # that its scope named when it began
    seed_sent: str = ""  # the first seed, as it was sent
    naming: Naming = UNNAMED

    @property
    def pages_over(self) -> bool:
        """All pages that max_pages allows were had, and the crawl goes on for their requisites."""
        return self.limited_by == "max_pages" and self.state in (CrawlState.RUNNING, CrawlState.PAUSED)
