"""What comes in and what goes out, as OpenAPI shows it. Unknown fields are refused."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from nephila.api.live import overview
from nephila.api.query import TEXT_CHARS_MAX, PlainText
from nephila.control.access import NAME_CHARS_MAX
from nephila.control.progress import SEEDS_SHOWN, errors_of
from nephila.frontier.operators import Access, BlockKind
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, UrlState
from nephila.profiles import Limit

SEEDS_MAX = 100_000  # of one request; more come by the command line
DEPTH_MAX = 5  # of the form {url, depth}
WEEK_MS = 7 * 86_400_000
YEAR_MS = 366 * 86_400_000
REASON_CHARS_MAX = 500
BLOCKS_AT_ONCE_MAX = 1000
LOCAL_WORKERS_MAX = 64


def _moment(value: object) -> object:
    return datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int | float) else value


Moment = Annotated[datetime, BeforeValidator(_moment)]
Seed = Annotated[str, Field(min_length=1, max_length=65_536)]
Ms = Annotated[int, Field(ge=0, le=WEEK_MS)]
ReasonText = Annotated[PlainText, Field(max_length=REASON_CHARS_MAX)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


# --- crawls


class NewCrawl(Body):
    """Seeds, or one `url` with a `depth` (then the profile is `graph` and the root page is waited for)."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"seeds": ["https://example.com/"], "settings": {"limits.max_pages": 100, "polite.floor_ms": 2000}},
                {"url": "https://example.com/", "depth": 2},
            ]
        },
    )

    seeds: list[Seed] | None = Field(None, min_length=1, max_length=SEEDS_MAX, description="URLs or bare domains")
    url: Seed | None = Field(None, description="one root URL, instead of seeds")
    depth: int | None = Field(None, ge=1, le=DEPTH_MAX, description="links away from `url`; only with it")
    profile: str | None = Field(None, max_length=50, description="GET /api/v1/settings lists them")
    settings: dict[str, Any] = Field(
        {}, max_length=200, description="what differs from the profile: GET /api/v1/settings lists all names"
    )

    @model_validator(mode="after")
    def _one_form(self) -> "NewCrawl":
        if (self.seeds is None) == (self.url is None):
            raise ValueError("give either `seeds` or `url`")
        if self.depth is not None and self.url is None:
            raise ValueError("`depth` goes with `url`; with `seeds` set scope.max_depth")
        return self


class Pace(Body):
    """Only what is given changes."""

    floor_ms: Ms | None = Field(None, description="the shortest gap between two requests to a host")
    jitter_ms: Ms | None = Field(None, description="a random addition of up to this to each gap")
    adaptive: bool | None = Field(None, description="let slow hosts rest longer")
    max_inflight: int | None = Field(None, ge=1, le=1000, description="requests to one host at a time")

    @model_validator(mode="after")
    def _something(self) -> "Pace":
        if not self.model_dump(exclude_none=True):
            raise ValueError("give at least one of floor_ms, jitter_ms, adaptive, max_inflight")
        return self


def _undefaulted(schema: dict[str, Any]) -> None:
    """Where null says something, a field that is left out does not mean its default."""
    for field in schema["properties"].values():
        field.pop("default", None)


class Limits(Body):
    """Only what is given changes; null removes a limit."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_undefaulted)

    max_pages: Limit = Field(None, description="pages that end `visited`; those in flight are still brought")
    max_urls: Limit = Field(
        None, description="URLs that are admitted at all: another number, in a crawl that was started with one"
    )
    max_urls_per_host: int = Field(1, ge=1, le=10**12, description="URLs of one host that are fetched")
    max_seconds: Limit = Field(None, description="seconds since the crawl began, pauses not counted")
    max_bytes: Limit = Field(None, description="bytes received in bodies")

    @model_validator(mode="after")
    def _something(self) -> "Limits":
        if not self.model_fields_set:
            raise ValueError(f"give at least one of {', '.join(type(self).model_fields)}")
        return self


class CrawlCounts(View):
    total: int = Field(description="URLs known")
    completed: int = Field(description="ended without an error")
    pending: int
    in_progress: int
    failed: int = Field(description="ended with an error: not found, forbidden, HTTP error, failed")


class CrawlView(CrawlCounts):
    id: int
    crawl_id: str = Field(description="its uuid")
    status: CrawlState
    reason: str = Field(description="why it is in this status")
    limited_by: str = Field(description="the limit that ended it before its frontier did")
    seeding: bool = Field(description="its seeds are still being added")
    root_url: str
    seeds: list[str] = Field(description=f"the first {SEEDS_SHOWN}")
    seeds_count: int
    requested_depth: int
    profile: str
    created_at: Moment
    ended_at: Moment | None
    active_ms: int = Field(description="time it ran, pauses not counted")
    states: dict[str, int] = Field(description="URLs by state")
    errors: dict[str, int] = Field(description="errors by kind")
    requests: int
    retries: int
    bytes: int


class CrawlDetail(CrawlView):
    settings: dict[str, Any] = Field(description="the whole record")


class CrawlList(View):
    crawls: list[CrawlView]
    next: int | None = Field(description="give it as `after` for the next page; null: this is the last")


class Purged(View):
    rows: int
    files: int


def crawl_fields(crawl: Crawl, counts: dict[str, int]) -> dict[str, Any]:
    return overview(crawl, counts) | {
        "id": crawl.id,
        "reason": crawl.reason,
        "limited_by": crawl.limited_by,
        "seeding": crawl.seeding,
        "seeds": list(crawl.seeds[:SEEDS_SHOWN]),
        "seeds_count": len(crawl.seeds),
        "profile": crawl.settings.profile,
        "created_at": crawl.created_at,
        "ended_at": crawl.ended_at,
        "active_ms": crawl.active_ms,
        "states": {state: counts[state] for state in UrlState if counts.get(state)},
        "errors": dict(errors_of(counts)),
        "requests": counts.get("requests", 0),
        "retries": counts.get("retries", 0),
        "bytes": counts.get("bytes", 0),
    }


def crawl_view(crawl: Crawl, counts: dict[str, int]) -> CrawlView:
    return CrawlView(**crawl_fields(crawl, counts))


def crawl_detail(crawl: Crawl, counts: dict[str, int]) -> CrawlDetail:
    return CrawlDetail(**crawl_fields(crawl, counts), settings=crawl.settings.model_dump(mode="json"))


class BoundView(View):
    host: str
    queued: int
    delay_ms: float


class RestingView(View):
    host: str
    in_ms: int
    reason: str


class ProgressView(CrawlCounts):
    """The same message as the WebSocket and the event stream have."""

    crawl: int
    crawl_id: str = Field(description="its uuid")
    status: CrawlState
    state: CrawlState
    reason: str
    limited_by: str
    root_url: str
    requested_depth: int
    seeds: list[str]
    active_ms: int
    urls: int
    queued: int
    states: dict[str, int]
    requests: int
    retries: int
    bytes: int
    errors: dict[str, int]
    rate: float | None = Field(description="URLs ended per second")
    eta_seconds: float | None
    bounded_by: BoundView | None = Field(description="the host whose politeness decides when it ends")
    waiting: str = Field(description="why nothing can be stored now")
    resting: RestingView | None
    hosts: list["QueueView"] = Field(description="those with the most open URLs")
    workers: list["WorkerView"] = Field(description="that live")
    final: bool = Field(description="it is over: nothing changes any more")


# --- URLs and pages


class UrlView(View):
    id: int
    url: str
    state: UrlState
    reason: str
    status: int | None
    content_type: str | None
    depth: int
    discovered_from: int | None = Field(description="id of the URL it was found on")
    raw_url: str | None = Field(description="the href as it was seen")
    title: str | None
    content_hash: str | None = Field(description="SHA-256 of the decoded body")
    bytes: int | None
    fetched_at: Moment | None
    latency_ms: float | None
    retries: int
    archive_file: str | None
    archive_offset: int | None
    archive_length: int | None
    redirect_to: str | None
    host: str = Field(description="politeness key")
    not_before_in_ms: int = Field(description="it waits at least so long before it is tried again")
    claimed_by: int | None = Field(description="the worker that fetches it now")
    claimed_at: Moment | None
    error: str | None


class UrlList(View):
    urls: list[UrlView]
    next: int | None = Field(description="give it as `after` (sorted: as `offset`); null: nothing more is there now")


class UrlDetail(UrlView):
    facts: dict[str, Any] = Field(description="ip, protocol, timing, description, links_out, ... of the page")


class LinkView(View):
    id: int
    url: str
    state: UrlState
    status: int | None
    depth: int


class LinkList(View):
    links: list[LinkView]
    next: int | None = Field(description="give it as `after`; null: this is the last page")


class RuleView(View):
    rule: str
    passed: bool | None = Field(description="null: not asked, an earlier rule refused")
    detail: str


class AncestorView(View):
    id: int
    url: str
    depth: int
    state: UrlState


class RobotsView(View):
    origin: str
    access: str
    allowed: bool | None
    detail: str
    status: int | None
    fetched_at: Moment | None
    expires_in_ms: int | None
    failures: int


class PaceView(View):
    latency_ms: float | None
    slowdown: float
    errors: int = Field(description="in a row")
    strikes: int
    crawl_delay_ms: int | None
    override_ms: int | None
    nxdomain: int


class ClockView(View):
    host: str
    next_in_ms: int = Field(description="its next request is allowed in")
    delay_ms: int
    requests: int
    pace: PaceView
    rest_reason: str = Field(description="why it rests; empty: the ordinary pace")
    addresses: str
    cnames: str


class QueueView(View):
    host: str
    open: int
    due_in_ms: int | None
    held_by: int | None
    fetched: int
    delay_ms: int
    dead: str = Field(description="why it is given up; empty: it is not")


class VitalsView(View):
    pages: int
    pages_per_s: float
    cpu: float = Field(description="cores in use")
    rss_bytes: int


class WorkerView(View):
    id: int
    name: str
    pid: int
    version: str
    started_at: Moment
    seen_at: Moment
    alive: bool
    partitions: int
    in_flight: int
    flushes: int
    vitals: VitalsView
    current: list[str] = Field(description="URLs in flight, the oldest first")


class ExplanationView(View):
    crawl: int
    crawl_state: CrawlState
    asked: str
    url: str | None = Field(description="normalised")
    verdict: str = Field(description="one sentence")
    rules: list[RuleView]
    row: UrlView | None
    facts: dict[str, Any]
    parents: list[AncestorView] = Field(description="from the page that linked to it up to the seed")
    redirects: list[AncestorView]
    queue: QueueView | None
    held_by: WorkerView | None
    host: ClockView | None
    host_rule: "HostRuleView | None" = Field(description="an operator's word about the host")
    delays: list[tuple[str, float]]
    robots: RobotsView | None
    refusals: list[tuple[str, int]]


class PageView(View):
    url: UrlView
    fetched_at: Moment
    ip: str | None
    status: int
    headers: list[tuple[str, str]] = Field(description="as received, in their order")
    body: str | None = Field(description="decoded text; null: binary")
    body_bytes: int
    charset: str | None
    truncated: bool = Field(description="the body goes on; /page/raw has all of it")
    facts: dict[str, Any]
    redirects: list[AncestorView]


class TicketView(View):
    path: str = Field(
        description="opens for a minute without a token", examples=["/api/v1/crawls/1/urls/1/page/rendered"]
    )


# --- graph and statistics


class NodeView(View):
    id: int
    url: str
    domain: str
    depth: int
    state: UrlState
    status: int | None
    title: str | None
    parent: int | None
    ip: str | None


class GraphView(View):
    nodes: list[NodeView] = Field(description="of kind `discovery`; the ends of links are among these")
    edges: list[tuple[int, int]] = Field(description="from, to")
    next: int | None = Field(description="give it as `after`; null: nothing more is known now")


class TimeBucket(View):
    at: Moment
    pages: int


class StatisticsView(View):
    total_urls: int
    unique_domains: int
    max_depth_reached: int
    status_counts: dict[str, int] = Field(description="URLs by state")
    counted: int = Field(description="URLs that the tables below are made of")
    sampled: bool = Field(description="those are a sample, spread evenly")
    errors: dict[str, int]
    refusals: dict[str, int]
    depths: dict[str, int]
    hosts: dict[str, int]
    content_types: dict[str, int]
    statuses: dict[str, int]
    bucket_seconds: int
    times: list[TimeBucket]


class StoredSizes(View):
    urls: int
    pages: int
    received_bytes: int
    store_bytes: int
    archive_bytes: int


class ProcessUse(View):
    pid: int
    started_at: Moment
    cpu_seconds: float
    rss_bytes: int
    local_workers: int
    waiting: str = Field(description="why nothing can be stored now; empty: all is well")


class OverviewView(View):
    crawls: dict[str, int]
    queued: int
    in_progress: int
    workers_alive: int
    workers_known: int
    pages_per_s: float
    cpu: float
    rss_bytes: int
    errors_last_hour: int
    sizes: StoredSizes
    process: ProcessUse


# --- hosts, rules, workers


class HostRuleView(View):
    host: str
    delay_ms: int | None
    blocked_in_ms: int | None
    reason: str
    created_by: str
    created_at: Moment


class RobotsRecordView(View):
    origin: str
    access: str
    status: int | None
    expires_in_ms: int
    failures: int
    detail: str
    fetched_at: Moment


class BlockView(View):
    id: int
    kind: BlockKind
    value: str
    reason: str
    created_by: str
    created_at: Moment


class BlockList(View):
    blocks: list[BlockView]


class NewBlocks(Body):
    kind: BlockKind = Field(BlockKind.DOMAIN, description="a domain with all below it, or a pattern with * and ?")
    values: list[Annotated[PlainText, Field(min_length=1, max_length=TEXT_CHARS_MAX)]] = Field(
        min_length=1, max_length=BLOCKS_AT_ONCE_MAX, examples=[["spam.example"]]
    )
    reason: ReasonText = Field("", examples=["spam"])


class WorkerList(View):
    workers: list[WorkerView]
    local: int | None = Field(description="worker processes that this server keeps; null: it keeps none")


class LocalCount(Body):
    count: int = Field(ge=0, le=LOCAL_WORKERS_MAX)


class ErrorView(View):
    id: int
    at: Moment
    worker: int
    crawl: int
    url_id: int
    url: str
    reason: str
    detail: str
    tries: int


class ErrorList(View):
    errors: list[ErrorView]


class Floor(Body):
    floor_ms: Ms = Field(description="of every delay, in all crawls", examples=[2000])


# --- tokens and settings


class CallerView(View):
    name: str = Field(description="of the token; `local`: this machine, without one", examples=["dashboard"])
    access: Access
    token: bool = Field(description="false: no token was needed")


class NewToken(Body):
    name: PlainText = Field(min_length=1, max_length=NAME_CHARS_MAX, examples=["dashboard"])
    access: Access = Access.READ


class TokenView(View):
    id: int
    name: str
    access: Access
    created_at: Moment
    revoked_at: Moment | None


class TokenMade(TokenView):
    secret: str = Field(description="shown once")


class TokenList(View):
    tokens: list[TokenView]


class ProcessSetting(View):
    name: str
    value: str
    default: str
    source: str
    help: str


class CrawlSetting(View):
    name: str = Field(examples=["polite.floor_ms"])
    help: str
    default: Any
    type: dict[str, Any] = Field(description="JSON Schema of its value")
    admin: bool = Field(description="only a token with access admin may set it")


class SettingsView(View):
    process: list[ProcessSetting] = Field(description="of this server; empty without access admin")
    crawl: list[CrawlSetting]
    profiles: dict[str, dict[str, Any]] = Field(description="what each profile changes")
