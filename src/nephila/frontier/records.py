"""What the catalogue answers, and how much of it at a time."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from nephila.errors import UsageError
from nephila.frontier.store import HostClock, Naming, Vitals
from nephila.models import CrawlState, Kind, Reason, UrlState

SORTED_URLS_MAX = 200_000  # a larger crawl is listed in the order of its ids only
HOSTS_SORTED_MAX = 100_000  # more hosts are listed by name only, and not counted
HOSTS_OPEN_COUNT_MAX = 2_000  # open rows of each host are counted up to here where a page of hosts is shown
SCAN_ROWS_MAX = 10_000  # rows that one page of a filtered listing looks at: it may be short, its `next` goes on
SCATTERED_ROWS_MAX = 2_000  # the same where rows do not lie side by side: each is a page of the disk
LINKS_MAX = 20_000  # links that one page of the link graph resolves; a page of the web counts whole
CURRENT_MAX = 10  # URLs in flight that are shown of a worker
# Open rows of a host are counted up to here where its queue is shown; a page of hosts counts so many more, shared out
# among the hosts with more than HOSTS_OPEN_COUNT_MAX.
OPEN_COUNT_MAX = 100_000
REFUSED_RULES_MAX = 1_000  # rules that a listing of refused links counts
REFUSED_LINKS_MAX = 10_000  # refused links that it reads
ORIGINS_MAX = 20  # origins of one politeness key: two schemes, with and without www, and ports that somebody linked to


# --- crawls


@dataclass(frozen=True, slots=True)
class CrawlHead:
    """What lists of crawls are filtered and sorted by, without the settings."""

    id: int
    state: CrawlState
    naming: Naming
    seeds: str  # the beginning of their JSON
    active_ms: int


# --- hosts and workers


@dataclass(frozen=True, slots=True)
class QueueRow:
    host: str
    open: int
    due_in_ms: int | None
    held_by: int | None
    fetched: int  # requests for its URLs, each try counts, as of the last flush
    delay_ms: int
    dead: str
    open_more: bool = False  # counting stopped: there are more than `open`


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


# --- URLs, errors, sizes


@dataclass(slots=True)
class UrlRow:
    """A URL as it is listed and exported. Not frozen: to make it would take 5 us, which is half of an exported row."""

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
    spelling: str | None = None
    updated_at: int | None = None  # found, taken up, tried again or ended; None: by an older version

    @property
    def address(self) -> str:
        """What the server is asked for."""
        return self.spelling or self.url


class RedirectEnd(StrEnum):
    """How the redirect of a URL ended. Finer than our states, because document 000 has a word for each."""

    NONE = "none"  # it is no redirect
    MOVED = "moved"  # status 301, wherever to
    FOLLOWED = "followed"  # another status; its target was taken up
    LEFT = "left"  # another status; its target is out of scope
    STOPPED = "stopped"  # another status; a loop, or no target


@dataclass(frozen=True, slots=True)
class UrlFilter:
    states: tuple[UrlState, ...] = ()
    host: str | None = None
    status: int | None = None
    depth: int | None = None
    text: str | None = None
    reason: str | None = None
    redirects: tuple[RedirectEnd, ...] | None = None
    kind: Kind | None = None  # None: of every kind


class ListedKind(StrEnum):
    """What a listing may be asked for."""

    PAGE = "page"
    REQUISITE = "requisite"  # what pages need
    SITEMAP = "sitemap"  # what lists pages

    @property
    def kind(self) -> Kind:
        return Kind[self.name]


def reason_named(word: str) -> Reason:
    """The reason that a filter asks for. A word that is none would find nothing, and nobody would know why."""
    try:
        return Reason(word)
    except ValueError:
        words = ", ".join(filter(None, Reason))
        raise UsageError(f"{word!r} is no reason of a URL: give one of {words}") from None


@dataclass(frozen=True, slots=True)
class UrlPage:
    """A page of a listing. It may be short, even empty, before the end: only `next` tells."""

    rows: list[UrlRow]
    next: int | None  # the `after` of the next page; None: this was the last


class UrlSort(StrEnum):
    ID = "id"
    FETCHED_AT = "fetched_at"
    URL = "url"
    UPDATED_AT = "updated_at"
    STATUS = "status"
    DEPTH = "depth"
    BYTES = "bytes"
    LATENCY_MS = "latency_ms"
    STATE = "state"
    REASON = "reason"
    TITLE = "title"
    CONTENT_TYPE = "content_type"
    RETRIES = "retries"


class CrawlHostSort(StrEnum):
    HOST = "host"
    OPEN = "open"
    FETCHED = "fetched"
    DELAY_MS = "delay_ms"
    NEXT_IN_MS = "next_in_ms"
    HELD_BY = "held_by"
    ERRORS = "errors"


class HostSort(StrEnum):
    HOST = "host"
    REQUESTS = "requests"
    DELAY_MS = "delay_ms"
    NEXT_IN_MS = "next_in_ms"
    LATENCY_MS = "latency_ms"
    SLOWDOWN = "slowdown"
    ERRORS = "errors"
    STRIKES = "strikes"


@dataclass(frozen=True, slots=True)
class HostView:
    """A host of one crawl: its queue there, its clock over all crawls, its robots.txt."""

    queue: QueueRow
    clock: HostClock | None  # None: nothing was asked of it yet
    robots_version: int | None  # of the origin that was asked last
    robots_access: str | None


@dataclass(frozen=True, slots=True)
class CrawlHostPage:
    """A page of the hosts of a crawl. As with UrlPage, only `next` tells whether there is more."""

    hosts: list[HostView]
    next: str | None


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host that was asked for something, or whose name was looked up, over all crawls."""

    clock: HostClock
    robots_version: int | None  # of the origin that was asked last
    robots_access: str | None


@dataclass(frozen=True, slots=True)
class HostPage:
    """A page of hosts. As with UrlPage, only `next` tells whether there is more."""

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
class FailingHost:
    """A host by its errors, of all crawls, among the latest `ERRORS_KEPT`."""

    host: str
    errors: int
    last_at: int
    last_reason: str


class Throughput(NamedTuple):
    """What all workers did in some time: URLs that ended visited, and tries that went wrong, as `errors` lists them."""

    pages: int
    errors: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """What all crawls together take."""

    urls: int
    pages: int  # visited
    received_bytes: int
    store_bytes: int
    archive_bytes: int


class ArchivedRow(NamedTuple):
    """What `verify` compares with the record that a row names."""

    page: int
    url_id: int
    offset: int
    length: int
    content_hash: bytes | None


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
