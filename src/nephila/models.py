"""The records and words that every layer shares: each is the word in SQL, JSON, metrics and docs (docs/glossary.md)."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

PARTITIONS = 256


class UrlState(StrEnum):
    """The life of a URL: queued, in_progress, one terminal state. `in_progress` is shown, never stored."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    VISITED = "visited"
    REDIRECTED = "redirected"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    HTTP_ERROR = "http_error"
    FAILED = "failed"
    EXCLUDED = "excluded"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        return self not in (UrlState.QUEUED, UrlState.IN_PROGRESS)


# The number of each state in the database; 0 is the only open one. Never renumber.
STATE_CODES: dict[UrlState, int] = {
    UrlState.QUEUED: 0,
    UrlState.VISITED: 1,
    UrlState.REDIRECTED: 2,
    UrlState.FORBIDDEN: 3,
    UrlState.NOT_FOUND: 4,
    UrlState.HTTP_ERROR: 5,
    UrlState.FAILED: 6,
    UrlState.EXCLUDED: 7,
    UrlState.CANCELLED: 8,
}
STATES_BY_CODE = {code: state for state, code in STATE_CODES.items()}


class Kind(IntEnum):
    """What a frontier row asks for."""

    PAGE = 0
    ROBOTS = 1  # a robots.txt that another host redirected to; raw_url names the asking origin


class CrawlState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    ENDING = "ending"  # a limit was reached or it was cancelled: the owners are ending its open rows
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        return self in (CrawlState.COMPLETED, CrawlState.CANCELLED, CrawlState.FAILED)


class Refusal(StrEnum):
    """Why a discovered URL was not admitted. Counted by (crawl, host, reason)."""

    INVALID = "invalid"  # no URL by the WHATWG standard
    SCHEME = "scheme"  # neither http nor https
    LENGTH = "length"
    SCOPE = "scope"  # the host is not in scope
    INCLUDE = "include"  # no include pattern matches
    EXCLUDE = "exclude"  # an exclude pattern matches
    DEPTH = "depth"
    EXTENSION = "extension"
    PATH_SEGMENTS = "path_segments"
    PATH_REPEATS = "path_repeats"
    NOFOLLOW = "nofollow"
    LIMIT = "limit"  # max_urls was reached
    HOPS = "hops"  # too many redirects in a row
    RULE = "rule"  # an operator's block rule


class Reason(StrEnum):
    """Why a URL is in its state, beyond what the state says itself."""

    NONE = ""
    ROBOTS = "robots"  # excluded: robots.txt disallows it
    ROBOTS_UNREACHABLE = "robots_unreachable"  # excluded: robots.txt could not be had
    CRAWL_DELAY = "crawl_delay"  # excluded: the host asks for a longer delay than we accept
    LIMIT_PAGES = "limit_pages"
    LIMIT_TIME = "limit_time"
    LIMIT_BYTES = "limit_bytes"
    LIMIT_HOST = "limit_host"
    DEPTH = "depth"  # recorded only, at the depth limit
    RULE = "rule"  # a block rule
    CANCELLED = "cancelled"
    HOST_DEAD = "host_dead"
    POISON = "poison"  # the page killed its parser
    REDIRECT_LOOP = "redirect_loop"
    REDIRECT_OUT_OF_SCOPE = "redirect_out_of_scope"
    REDIRECT_INVALID = "redirect_invalid"
    # transport errors (fetch.FetchError carries the same words)
    DNS = "dns"
    NXDOMAIN = "nxdomain"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    PROTOCOL = "protocol"
    HEADERS_TOO_LONG = "headers_too_long"
    PRIVATE_ADDRESS = "private_address"
    PROXY = "proxy"
    # http errors
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    RATE_LIMITED = "rate_limited"


@dataclass(frozen=True, slots=True)
class Decision:
    """A pure decision: never a bare bool, always with its reason."""

    ok: bool
    reason: str = ""
    detail: str = ""


class Child(NamedTuple):
    """An admitted URL on its way into the frontier. A tuple, because a page brings dozens: half the price to make."""

    crawl: int
    host: str  # politeness key
    key: bytes  # 16 bytes of BLAKE2b of url
    url: str
    depth: int
    priority: int  # smaller is sooner
    parent: int | None  # id of the URL it was found on
    raw: str | None  # the href as it was seen
    kind: Kind = Kind.PAGE
    hops: int = 0


@dataclass(slots=True)
class Timing:
    """Milliseconds of each phase of one request."""

    dns_ms: float = 0.0
    connect_ms: float = 0.0
    tls_ms: float = 0.0
    first_byte_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """Where a response lies: `length` compressed bytes at `offset` of `file`, a name in the archive folder."""

    file: str
    offset: int
    length: int


@dataclass(slots=True)
class PageRecord:
    """What is kept of one answered request: a row of `pages`."""

    status: int | None = None
    content_type: str | None = None
    body_bytes: int = 0  # decoded
    wire_bytes: int = 0  # as received
    fetched_at: int = 0  # ms since 1970
    timing: Timing = field(default_factory=Timing)
    ip: str | None = None
    protocol: str | None = None  # http/1.1, h2
    charset: str | None = None
    title: str | None = None
    facts: dict[str, object] = field(
        default_factory=dict
    )  # description, keywords, language, canonical, robots, refresh, next
    content_hash: bytes | None = None  # sha256 of the decoded body
    archive: ArchivePlace | None = None
    truncated: str | None = None  # length | time | disconnect
    redirect_to: str | None = None
    error: str | None = None  # detail of a failure, one line
    links: dict[str, bytes] = field(
        default_factory=dict
    )  # politeness key -> first 8 bytes of the key of each admitted link
    refused: list[str] = field(default_factory=list)  # links that were refused, capped
