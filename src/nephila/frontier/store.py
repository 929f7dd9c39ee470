"""The seam to the database: three protocols, split by caller, lists in and lists out.

`Frontier` is the worker's, `Upkeep` may run anywhere, `Catalog` serves the command line and the API. They are
synchronous: the worker calls them from its flush thread, so a slow database never blocks the event loop. tests/contract
is their real definition.

All times that cross this seam are RELATIVE milliseconds ("in 1,500 ms"), so that a worker's wrong wall clock can break
neither a lease nor a host's rest; the store adds its own clock. Stamps that are only shown (fetched_at) are absolute.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from nephila.frontier.operators import Rulings
from nephila.models import Child, CrawlState, Kind, PageRecord, UrlState
from nephila.policy.balance import Lease
from nephila.policy.politeness import Pace
from nephila.profiles import CrawlSettings

ERRORS_PER_FLUSH = 50  # more would only push each other out of the list
ERRORS_KEPT = 10_000  # upkeep forgets the older ones
KEYS_KEPT_MS = 24 * 3600 * 1000  # a request that comes again later is a new one
FORGET_EVERY_MS = 10_000  # how often upkeep looks for what is too old
FORGET_ROWS = 20_000  # of one kind at a time: a transaction stays short
SORTED_URLS_MAX = 200_000  # a larger crawl is listed in the order of its ids only
CURRENT_MAX = 10  # URLs in flight that are shown of a worker
OPEN_COUNT_MAX = 100_000  # a host's queue is counted only so far when it is shown
HOSTS_OPEN_COUNT_MAX = 2_000  # and so far where a page of hosts is shown
SCAN_ROWS_MAX = 10_000  # that one page of a filtered listing looks at: it may be short, its `next` goes on
SCATTERED_ROWS_MAX = 2_000  # the same where they do not lie side by side: each is a page of the disk
ORIGINS_MAX = 20  # of one politeness key: two schemes, with and without www, and ports that somebody linked to
LINKS_MAX = 20_000  # that one page of the link graph resolves; a page of the web counts whole


# --- what a worker says and hears -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    name: str
    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class Vitals:
    """How a worker is: shown, never decided by."""

    pages: int = 0  # ended by this session
    pages_per_s: float = 0.0
    cpu: float = 0.0  # cores in use
    rss_bytes: int = 0


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


@dataclass(frozen=True, slots=True)
class Retry:
    url_id: int
    crawl: int
    in_ms: int
    tries: int
    crashes: int
    reason: str


@dataclass(frozen=True, slots=True)
class HostClock:
    """What the owner of a host remembers of it over a crash."""

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
    """A queue that goes back: the store finds the time of its first open row; not before `in_ms`."""

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
    """A visit that went wrong, for those who look after the crawl; `reason` and `detail` say how."""

    crawl: int
    url_id: int
    reason: str
    detail: str
    tries: int


@dataclass(slots=True)
class Batch:
    """Everything one flush commits, and what it asks for. By its `seq` it may be sent again after any error."""

    seq: int
    outcomes: list[Outcome] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)  # that no outcome brings: robots rows
    clocks: list[HostClock] = field(default_factory=list)
    # Looked up by name without a request: of a host that the store knows only addresses and names change.
    resolved: list[HostClock] = field(default_factory=list)
    robots: list[RobotsRecord] = field(default_factory=list)
    released: list[Release] = field(default_factory=list)
    deaths: list[tuple[int, str]] = field(
        default_factory=list
    )  # queue, reason (host_dead, limit_host): the store ends its rows in chunks
    tallies: dict[tuple[int, str], int] = field(default_factory=dict)
    refusals: dict[tuple[int, str, str], int] = field(default_factory=dict)
    joined_hosts: list[tuple[int, str]] = field(default_factory=list)
    errors: list[ErrorNote] = field(default_factory=list)  # up to ERRORS_PER_FLUSH
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
    control: int = 0
    next_due_in_ms: int | None = None
    valid_ms: float | None = None  # the lease was renewed, too: as Lease.valid_ms


class Frontier(Protocol):
    """The worker's side. One session per instance."""

    def join(self, info: WorkerInfo) -> int:
        """A new session; answers the worker's id."""

    def lease(self, loads: dict[int, float], vitals: Vitals = Vitals()) -> Lease:
        """Renew, fence the dead, take free partitions, learn which to hand back. `loads`: requests a second of each."""

    def flush(self, batch: Batch) -> Flushed:
        """One transaction, fenced by the session's flush sequence. Raises Fenced, StoreUnavailable."""

    def leave(self) -> None:
        """End the session: everything held is free at once."""

    def crawl(self, crawl_id: int) -> "Crawl":
        """The settings and state of a crawl."""

    def controls(self) -> "list[Crawl]":
        """All crawls that are not over."""

    def rulings(self) -> Rulings:
        """What operators decided; asked anew when the control version has moved."""


# --- upkeep ---------------------------------------------------------------------------------------------------------


class Upkeep(Protocol):
    def run_once(self) -> dict[str, int]:
        """Fence the dead, end crawls that are done or over a limit; counts of what was done. Idempotent."""

    def checkpoint(self) -> int:
        """Fold the log into the database when it has grown; pages folded."""

    def purge(self, crawl_id: int, rows_max: int) -> int:
        """Delete up to so many rows of a deleted crawl; 0 when nothing is left."""

    def abandoned_files(self) -> list[tuple[str, int]]:
        """Archive files of sessions that have ended, and how many bytes of each are known to be whole."""

    def file_closed(self, name: str, cut: int) -> None:
        """An abandoned file was looked after; so many torn bytes were cut off."""


# --- the catalogue --------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class UrlRow:
    """A URL as it is listed and exported."""

    id: int
    url: str
    state: UrlState
    reason: str
    status: int | None
    content_type: str | None
    depth: int
    discovered_from: int | None
    raw_url: str | None
    title: str | None
    content_hash: str | None
    bytes: int | None
    fetched_at: int | None
    latency_ms: float | None
    retries: int
    archive_file: str | None
    archive_offset: int | None
    archive_length: int | None
    redirect_to: str | None
    host: str
    kind: Kind
    not_before_in_ms: int
    claimed_by: int | None
    claimed_at: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class UrlFilter:
    states: tuple[UrlState, ...] = ()
    host: str | None = None
    status: int | None = None
    depth: int | None = None
    text: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class UrlPage:
    """A page of a listing. It may be short, even empty, for more reasons than the end: only `next` tells."""

    rows: list[UrlRow]
    next: int | None  # the `after` of the next page; None: this was the last


@dataclass(frozen=True, slots=True)
class HostRow:
    host: str
    next_in_ms: int
    delay_ms: int
    requests: int
    pace: Pace
    rest_reason: str
    addresses: str
    cnames: str


@dataclass(frozen=True, slots=True)
class QueueRow:
    host: str
    open: int  # counted up to OPEN_COUNT_MAX
    due_in_ms: int | None
    held_by: int | None
    fetched: int
    delay_ms: int
    dead: str


@dataclass(frozen=True, slots=True)
class WorkerRow:
    id: int
    name: str
    pid: int
    version: str
    started_at: int
    seen_at: int
    alive: bool
    partitions: int
    in_flight: int
    flushes: int
    vitals: Vitals
    current: tuple[str, ...]  # URLs in flight, the oldest first, up to CURRENT_MAX


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A row that names a place in an archive file."""

    url_id: int
    crawl: int
    url: str
    host: str
    kind: Kind
    state: UrlState
    title: str | None
    content_type: str | None
    fetched_at: int
    offset: int
    length: int
    noindex: bool  # the page asks not to be found, and its crawl obeys


class UrlSort(StrEnum):
    ID = "id"
    FETCHED_AT = "fetched_at"
    URL = "url"


@dataclass(frozen=True, slots=True)
class HostView:
    """A host of one crawl: its queue there, its clock over all crawls, its robots.txt."""

    queue: QueueRow
    clock: HostRow | None  # None: nothing was asked of it yet
    robots_version: int | None  # of the origin that was asked last
    robots_access: str | None


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host that was asked for something, or whose name was looked up, over all crawls."""

    clock: HostRow
    robots_version: int | None  # of the origin that was asked last
    robots_access: str | None


@dataclass(frozen=True, slots=True)
class HostPage:
    """As UrlPage: only `next` tells whether there is more."""

    hosts: list[KnownHost]
    next: str | None


@dataclass(frozen=True, slots=True)
class ErrorRow:
    id: int
    at: int
    worker: int
    crawl: int
    url_id: int
    url: str
    reason: str
    detail: str
    tries: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """What all crawls together take."""

    urls: int
    pages: int  # visited
    received_bytes: int
    store_bytes: int
    archive_bytes: int


class Catalog(Protocol):
    def create_crawl(
        self, seeds: Sequence[str], settings: CrawlSettings, fingerprint: str, key: str = "", created_by: str = ""
    ) -> Crawl:
        """`created_by`: the name of a token, empty for a command.

        `key`: of a request that may come twice: the second time its crawl is answered. UsageError where it was given
        with another fingerprint before.
        """

    def add_seeds(self, crawl_id: int, children: Iterable[Child]) -> int: ...
    def seeded(self, crawl_id: int) -> None: ...
    def unfinished(self, fingerprint: str) -> Crawl | None: ...
    def unfinished_of(self, created_by: str) -> int:
        """How many crawls of this token are not over."""

    def crawl(self, crawl_id: int) -> Crawl: ...
    def crawl_by_uuid(self, uuid: str) -> Crawl | None: ...
    def crawls(self) -> list[Crawl]: ...
    def crawl_uuids(self) -> dict[int, str]:
        """Of all crawls: what there is, without reading their settings."""

    def steer(self, crawl_id: int, state: CrawlState, reason: str = "") -> int:
        """Ask for a state; answers the control version that every living session must have seen."""

    def acknowledged(self, version: int) -> bool: ...
    def change_settings(self, crawl_id: int, settings: CrawlSettings) -> int:
        """Pace and limits of a crawl that is not over; workers follow with their next flush. The control version.

        Pages that are in flight when max_pages is lowered below them are still brought. Whether there is a max_urls
        never changes: sessions remember that there is none. Where there is one it may be another.
        """

    def tallies(self, crawl_id: int) -> dict[str, int]: ...
    def refusals(self, crawl_id: int, host: str | None = None) -> list[tuple[str, str, int]]:
        """(host, reason, how often), the most frequent first; of one host, or of all."""

    def urls(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> list[UrlRow]:
        """A keyset page by id: those above `after`, or (descending) below it, 0 meaning from the end. However long it
        takes: a page is full, or the last one."""

    def urls_page(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> UrlPage:
        """As `urls`, but a filter looks at SCAN_ROWS_MAX (SCATTERED_ROWS_MAX) rows at most and stops there."""

    def sorted_urls(
        self, crawl_id: int, where: UrlFilter, sort: UrlSort, *, descending: bool, limit: int, offset: int
    ) -> list[UrlRow]:
        """UsageError for a crawl of more than SORTED_URLS_MAX URLs, unless by id, by state and among its first so many.
        By fetched_at those without an answer count as the oldest."""

    def count_urls(self, crawl_id: int, where: UrlFilter) -> int:
        """From the tallies where the filter is by state alone; else counted among the first SORTED_URLS_MAX."""

    def links(self, crawl_id: int, after: int, limit: int) -> list[tuple[int, list[int]]]:
        """Of URLs with ids above `after` whose pages have links, at most `limit`: the ids of what they link to.
        Nothing: this was the end. The last one may come without links: only the place to go on from."""

    def links_of(self, url_id: int, after: int, limit: int) -> UrlPage:
        """What its page links to among the URLs of its crawl: a keyset page by id."""

    def hosts(self, crawl_id: int, after: str, limit: int) -> list[HostView]:
        """A keyset page by name."""

    def all_hosts(self, after: str, limit: int, text: str = "") -> HostPage:
        """Of all crawls, a keyset page by name; `text`: part of the name, looked for in SCAN_ROWS_MAX hosts at most."""

    def errors(self, limit: int, crawl_id: int | None = None) -> list[ErrorRow]:
        """The latest first."""

    def sizes(self) -> Sizes: ...
    def url(self, crawl_id: int, host: str, key: bytes) -> UrlRow | None: ...
    def url_by_id(self, url_id: int) -> UrlRow | None: ...
    def ancestors(self, url_id: int, limit: int) -> list[UrlRow]:
        """From the page it was found on up to the seed."""

    def page_facts(self, url_id: int) -> dict[str, object]: ...
    def robots(self, origin: str) -> RobotsRecord | None: ...
    def robots_of_host(self, host: str) -> list[RobotsRecord]:
        """Of its origins, up to ORIGINS_MAX."""

    def host(self, host: str) -> HostRow | None: ...
    def addresses(self, hosts: Collection[str]) -> dict[str, str]:
        """Of those whose names were resolved, separated by blanks."""

    def queue(self, crawl_id: int, host: str) -> QueueRow | None: ...
    def queues(self, crawl_id: int, limit: int) -> list[QueueRow]: ...
    def workers(self) -> list[WorkerRow]: ...
    def attend(self, crawl_id: int) -> None:
        """This process sees to the crawl as long as it lives: nobody else may take it for interrupted."""

    def attended(self, crawl_id: int) -> bool: ...
    def suspect(self, url_id: int) -> None:
        """A worker died while it parsed this URL."""

    def delete(self, crawl_id: int) -> list[str]:
        """Mark as deleted; answers the archive files that no other crawl's rows name."""

    def forget_file(self, name: str) -> None: ...
    def archive_files(self) -> list[tuple[str, int, bool, int]]:
        """Name, worker, open, bytes cut off."""

    def archive_sizes(self) -> list[tuple[str, int]]:
        """Name and bytes: so much of it is durable, and the rows that name places there are committed."""

    def pages_in_file(self, name: str, start: int, end: int, limit: int) -> list[ArchivedPage]:
        """Rows of any state whose place begins in this stretch of the file, by offset. Fewer than the limit: all."""

    def archived(self, after: int, limit: int) -> Iterator[tuple[int, int, str, int, int, bytes | None]]:
        """(page id, url id, file, offset, length, content hash) of rows that name an archive record, by page id."""

    def check(self) -> list[str]:
        """Broken promises of the store itself; one line each."""
