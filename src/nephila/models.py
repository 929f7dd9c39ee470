"""The records and words that every layer shares: each is the word in SQL, JSON, metrics and docs (docs/glossary.md)."""

import re
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
    EVICTED = "evicted"

    @property
    def terminal(self) -> bool:
        return self not in OPEN


class StateTraits(NamedTuple):
    """What is true of every URL in a state. A new state is classified here, and nowhere else."""

    code: int | None  # its number in the database, never renumbered; None: it is shown, never stored
    open: bool = False  # has not ended
    answered: bool = False  # a response ended it, so that it always has a page record
    error: bool = False  # something went wrong
    explained: bool = False  # the state itself says what went wrong; other errors have a reason


STATE_TRAITS: dict[UrlState, StateTraits] = {
    UrlState.QUEUED: StateTraits(0, open=True),
    UrlState.IN_PROGRESS: StateTraits(None, open=True),
    UrlState.VISITED: StateTraits(1, answered=True),
    UrlState.REDIRECTED: StateTraits(2, answered=True),
    UrlState.FORBIDDEN: StateTraits(3, answered=True, error=True, explained=True),
    UrlState.NOT_FOUND: StateTraits(4, answered=True, error=True, explained=True),
    UrlState.HTTP_ERROR: StateTraits(5, answered=True, error=True),
    UrlState.FAILED: StateTraits(6, error=True),
    UrlState.EXCLUDED: StateTraits(7),
    UrlState.CANCELLED: StateTraits(8),
    UrlState.EVICTED: StateTraits(9),
}
STATE_CODES = {state: traits.code for state, traits in STATE_TRAITS.items() if traits.code is not None}
STATES_BY_CODE = {code: state for state, code in STATE_CODES.items()}

OPEN = frozenset(state for state, traits in STATE_TRAITS.items() if traits.open)
TERMINAL = tuple(state for state in UrlState if state.terminal)  # in the order in which they are shown
ANSWERED = frozenset(state for state, traits in STATE_TRAITS.items() if traits.answered)
ERRORS = frozenset(state for state, traits in STATE_TRAITS.items() if traits.error)
EXPLAINED_ERRORS = frozenset(state for state in ERRORS if STATE_TRAITS[state].explained)
ERRORS_WITH_REASON = ERRORS - EXPLAINED_ERRORS


class Kind(IntEnum):
    """What a frontier row asks for; `KIND_TRAITS` says what follows. The numbers are stored: never renumber."""

    PAGE = 0
    ROBOTS = 1  # a robots.txt that another host redirected to; raw_url names the asking origin
    REQUISITE = 2  # what a page needs to look as it does: an image, a stylesheet, a script, a font
    SITEMAP = 3  # a list of pages or of sitemaps; raw_url names for whom it speaks (worker/sitemap_visit.py)

    @property
    def word(self) -> str:
        """Its name in filters, JSON and on the screen."""
        return self.name.lower()

    @property
    def traits(self) -> "KindTraits":
        return KIND_TRAITS[self]


KINDS_BY_CODE = {kind.value: kind for kind in Kind}  # Kind(code) takes 1 us


@dataclass(frozen=True, slots=True)
class KindTraits:
    """What a kind of row decides. Who visits it is in `worker/visits.py`."""

    page: bool  # counts against max_pages, is listed, exported, drawn and searched
    ruled: bool  # max_urls, depth, the host's URL budget and robots.txt are asked before it is requested
    priority: int | None = None  # of all its rows; None: their depth
    tally_prefix: str = ""  # of the names that its rows are counted by: its numbers are not those of pages
    outlives_pages: bool = True  # asked for also when max_pages were had, in a crawl that goes on


KIND_TRAITS: dict[Kind, KindTraits] = {
    Kind.PAGE: KindTraits(page=True, ruled=True, outlives_pages=False),
    Kind.ROBOTS: KindTraits(page=False, ruled=False, priority=-2),  # first, because whole hosts wait for it
    # Before the next page: a crawl that ends early leaves few pages without what they need.
    Kind.REQUISITE: KindTraits(page=False, ruled=True, priority=-1, tally_prefix="requisite:"),
    # Before the next page: what it lists is then there to be counted, and to be asked for in its order.
    Kind.SITEMAP: KindTraits(page=False, ruled=True, priority=-1, tally_prefix="sitemap:", outlives_pages=False),
}
REQUISITE_PREFIX = KIND_TRAITS[Kind.REQUISITE].tally_prefix
SITEMAP_PREFIX = KIND_TRAITS[Kind.SITEMAP].tally_prefix
TALLY_PREFIXES = tuple(dict.fromkeys(traits.tally_prefix for traits in KIND_TRAITS.values()))  # "": of pages


class CrawlState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    ENDING = "ending"  # a limit was reached or it was cancelled: the owners are ending its open rows
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def works(self) -> bool:
        return self in (CrawlState.RUNNING, CrawlState.ENDING)

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
    FRONTIER = "frontier"  # max_frontier URLs were open
    HOPS = "hops"  # too many redirects in a row
    RULE = "rule"  # an operator's block rule
    REQUISITE = "requisite"  # a page needs it, from a host that scope.requisites leaves out
    FOREIGN_SITEMAP = "foreign_sitemap"  # listed by a sitemap that may not speak for its host
    SITEMAPS_ONLY = "sitemaps_only"  # a link, where pages come from sitemaps alone


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
    LIMIT_FRONTIER = "limit_frontier"  # evicted: more than max_frontier URLs were open
    DEPTH = "depth"  # recorded only, at the depth limit
    RULE = "rule"  # a block rule
    CANCELLED = "cancelled"
    HOST_DEAD = "host_dead"
    UNREACHABLE = "unreachable"  # failed: not one seed of the crawl answered
    POISON = "poison"  # the page killed its parser
    TOO_COSTLY = "too_costly"  # the page took its parser too long
    CONTENT_TYPE = "content_type"  # visited, but of a type that content.accept leaves out: no page of the crawl
    NOT_SITEMAP = "not_sitemap"  # visited as a sitemap, but it is none
    UNSAFE_SITEMAP = "unsafe_sitemap"  # visited as a sitemap, but it declares entities
    REDIRECT_LOOP = "redirect_loop"
    REDIRECT_OUT_OF_SCOPE = "redirect_out_of_scope"
    REDIRECT_INVALID = "redirect_invalid"
    # transport errors, as the fetcher names them
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


# Reasons that end a URL without anything having gone wrong.
HARMLESS_REASONS = frozenset(
    (
        Reason.ROBOTS,
        Reason.CRAWL_DELAY,
        Reason.LIMIT_PAGES,
        Reason.LIMIT_TIME,
        Reason.LIMIT_BYTES,
        Reason.LIMIT_HOST,
        Reason.LIMIT_FRONTIER,
        Reason.DEPTH,
        Reason.RULE,
        Reason.CANCELLED,
        Reason.CONTENT_TYPE,
        Reason.NOT_SITEMAP,
        Reason.REDIRECT_OUT_OF_SCOPE,
    )
)


HTTP_REASONS = frozenset((Reason.HTTP_4XX, Reason.HTTP_5XX, Reason.RATE_LIMITED))  # of http_error, where it has one


class ArchiveFormat(StrEnum):
    """How new archive files are compressed."""

    GZIP = "gzip"
    ZSTD = "zstd"


class Tally(StrEnum):
    """What is counted of a crawl as it happens, beside its URLs by state (UrlState) and by reason, status, content type
    and depth (`reason_tally` and its like). Requisites and sitemaps are counted apart, by state and reason, under the
    prefix of their kind."""

    URLS = "urls"
    HOSTS = "hosts"  # that URLs are known of
    DEPTH_MAX = "depth_max"  # of its pages: each session's is the greatest it inserted, and the crawl's that of all
    REQUESTS = "requests"  # that came to an end, with an answer or an error
    ANSWERED = "answered"  # of these, with an answer
    RETRIES = "retries"
    BYTES = "bytes"


REASON_PREFIX, STATUS_PREFIX, TYPE_PREFIX, DEPTH_PREFIX = "reason:", "status:", "type:", "depth:"
# What is counted by foreign words has few names: a crawl is looked at once a second.
TYPES_MAX = 50  # content types of a crawl that are counted by name
DEPTHS_MAX = 1000  # depths that are counted one by one
NO_TYPE, OTHER_TYPES, DEEPER = "none", "other", "deeper"
_TYPE_NAME = re.compile(r"[a-z0-9!#$&^_.+/-]{1,100}")  # migrations say the same in SQL


def reason_tally(reason: str) -> str:
    """The name of the tally of URLs that ended with this reason."""
    return REASON_PREFIX + reason


def status_tally(status: int) -> str:
    """Of URLs whose last answer had this status."""
    return f"{STATUS_PREFIX}{status}"


def type_tally(content_type: str) -> str:
    """Of URLs whose last answer was of this type; `content_type` as `counted_type` has it."""
    return TYPE_PREFIX + content_type


def depth_tally(depth: int) -> str:
    """Of pages so many links from a seed."""
    return f"{DEPTH_PREFIX}{depth if depth < DEPTHS_MAX else DEEPER}"


def requisite_tally(name: str) -> str:
    """Of requisites: URLs, a state, a reason (`Tally.URLS`, UrlState, `reason_tally`)."""
    return REQUISITE_PREFIX + name


def sitemap_tally(name: str) -> str:
    """Of sitemaps, as `requisite_tally`."""
    return SITEMAP_PREFIX + name


def media_type(content_type: str | None) -> str:
    """The type that a header names, without its parameters; empty where it names none."""
    return (content_type or "").partition(";")[0].strip().lower()


def counted_type(content_type: str | None) -> str:
    """The media type as it is counted: the first of several, OTHER_TYPES where it could not be one."""
    named = media_type(content_type).partition(",")[0].rstrip()
    if not named:
        return NO_TYPE
    return named if _TYPE_NAME.fullmatch(named) else OTHER_TYPES


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
    spelling: str | None = None  # what the server is asked for, where it is not `url`
    kind: Kind = Kind.PAGE
    hops: int = 0

    @property
    def is_link(self) -> bool:
        """Found on a page. Not so: seeds, targets of redirects, robots.txt files."""
        return self.parent is not None and not self.hops and self.kind.traits.page


class Handshake(StrEnum):
    """The TLS handshake of a request, by what it cost."""

    NONE = ""  # no TLS, or a connection that was open
    FULL = "full"
    RESUMED = "resumed"  # with the session of an earlier connection: no certificate, no signature
    UNKNOWN = "unknown"  # nobody looked


@dataclass(slots=True)
class Timing:
    """Milliseconds of each phase of one request."""

    dns_ms: float = 0.0
    connect_ms: float = 0.0
    tls_ms: float = 0.0
    first_byte_ms: float = 0.0
    total_ms: float = 0.0


class FailedRecord(NamedTuple):
    """A record of the archive of which a derivation could not be made."""

    file: str
    offset: int
    url_id: int
    tries: int  # helpers that it has ended
    skipped: bool  # the derivation has gone on without it; else it is tried again
    why: str


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """Where a response lies: `length` compressed bytes at `offset` of `file`, a name in the archive."""

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
    truncated: str | None = None  # length | time | disconnect | coding: its compression broke off
    redirect_to: str | None = None
    error: str | None = None  # detail of a failure, one line
    links: dict[str, bytes] = field(
        default_factory=dict
    )  # politeness key -> first 8 bytes of the key of each admitted link
    refused: list[str] = field(default_factory=list)  # links that were refused, capped
