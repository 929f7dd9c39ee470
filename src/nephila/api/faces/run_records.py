"""A crawl in the words of document 000: settings, states, rows. Pure, but for counting redirects."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from nephila.control.export import Record, iso_time
from nephila.errors import UsageError
from nephila.fetch.guard import judge_url
from nephila.frontier.store import Catalog, Crawl, UrlFilter, UrlRow
from nephila.models import CrawlState, Reason, UrlState
from nephila.profiles import PROFILES, CrawlSettings, RedirectMode, ScopeMode, crawl_settings
from nephila.urls.admission import Admission
from nephila.urls.identity import hostname_of
from nephila.urls.scope import registrable_domain, www_twin

PROFILE = "strict"
PRIVATE_FLOOR_MS = int(PROFILES[PROFILE]["polite"]["floor_ms"])
PUBLIC_FLOOR_MS = 1000  # K06: the document's 40 ms are for one's own machines

# --- settings -------------------------------------------------------------------------------------------------------

# what the environment of the control plane says counts where a request is silent.
ENVIRONMENT = {
    "maxPages": "CRAWL_MAX_PAGES",
    "maxDepth": "CRAWL_MAX_DEPTH",
    "scopeMode": "CRAWL_SCOPE_MODE",
    "includeDocuments": "CRAWL_INCLUDE_DOCUMENTS",
    "followRedirects": "CRAWL_FOLLOW_REDIRECTS",
    "demoDelayMs": "CRAWL_DEMO_DELAY_MS",
    "requestTimeoutMs": "REQUEST_TIMEOUT_MS",
    "maxRetries": "MAX_RETRIES",
}


class Camel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel, validate_by_name=True)


class RunSettings(Camel):
    """What a run may do. What is left out comes from the environment of the control plane, then from here."""

    max_pages: int = Field(5000, ge=1, le=10**9, description="URLs that the run takes up at all")
    max_depth: int = Field(25, ge=0, le=10**6, description="links away from the seed")
    scope_mode: Literal["same_host", "same_domain"] = Field(
        "same_host", description="the seed's host and its www counterpart, or its registrable domain"
    )
    include_documents: bool = Field(False, description="crawl images, archives, PDFs and the like too")
    follow_redirects: bool = Field(True, description="the target of a redirect becomes a URL of its own")
    demo_delay_ms: int = Field(0, ge=0, le=60_000, description="slows the whole run: added to the gap of each host")
    request_timeout_ms: int = Field(5000, ge=1, le=3_600_000, description="deadline of one request")
    max_retries: int = Field(2, ge=0, le=100, description="tries of a URL after the first one")


class RunConfig(BaseModel):
    """The settings as they are stored with the run."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    max_pages: int | None
    max_depth: int
    scope_mode: str
    include_documents: bool
    follow_redirects: bool
    demo_delay_ms: int
    request_timeout_ms: int
    max_retries: int
    min_gap_per_host_ms: int = Field(description="40 ms on private addresses, one second on public hosts")


def merged(given: RunSettings, env: Mapping[str, str]) -> RunSettings:
    """The request's own settings, then the environment's, then the document's defaults."""
    found = {field: env[name] for field, name in ENVIRONMENT.items() if env.get(name)}
    try:
        defaults = RunSettings.model_validate(found, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        name = ENVIRONMENT[str(first["loc"][0])]
        raise UsageError(f"environment variable {name} cannot be {first['input']!r}: {first['msg'].lower()}") from None
    return defaults.model_copy(update=given.model_dump(exclude_unset=True))


def settings_for(run: RunSettings, seed: str, *, allow_private: bool) -> CrawlSettings:
    return crawl_settings(
        PROFILE,
        {
            "limits.max_urls": run.max_pages,  # K19: the document counts what it has discovered
            "scope.max_depth": run.max_depth,
            "scope.mode": run.scope_mode,
            "scope.include_documents": run.include_documents,
            "redirects.mode": RedirectMode.ENQUEUE if run.follow_redirects else RedirectMode.RECORD,
            "polite.floor_ms": floor_of(seed) + run.demo_delay_ms,
            "fetch.total_timeout_ms": run.request_timeout_ms,
            "fetch.allow_private": allow_private,
            "retry.max": run.max_retries,
        },
    )


def floor_of(seed: str) -> int:
    return PUBLIC_FLOOR_MS if judge_url(seed).ok else PRIVATE_FLOOR_MS


def config_of(crawl: Crawl) -> RunConfig:
    settings, floor = crawl.settings, crawl.settings.polite.floor_ms
    return RunConfig(
        max_pages=settings.limits.max_urls,
        max_depth=settings.scope.max_depth,
        scope_mode=settings.scope.mode,
        include_documents=settings.scope.include_documents,
        follow_redirects=settings.redirects.mode is not RedirectMode.RECORD,
        demo_delay_ms=max(0, floor - floor_of(crawl.seeds[0])),
        request_timeout_ms=settings.fetch.total_timeout_ms,
        max_retries=settings.retry.max,
        min_gap_per_host_ms=floor,
    )


def allowed_hosts(crawl: Crawl) -> list[str]:
    """Empty where every host is."""
    scope = crawl.settings.scope
    if scope.mode is ScopeMode.ANY:
        return []
    if scope.mode is ScopeMode.LIST:
        return [*scope.hosts, *crawl.joined_hosts]
    names = [*(hostname_of(seed) for seed in crawl.seeds), *crawl.joined_hosts]
    if scope.mode is ScopeMode.SAME_DOMAIN:
        return list(dict.fromkeys(map(registrable_domain, names)))
    return list(dict.fromkeys(host for name in names for host in (name, www_twin(name)) if host))


def normalized_seed(crawl: Crawl) -> str:
    found = Admission(crawl.settings, crawl.seeds[:1]).judge(crawl.seeds[0], None, 0).found
    return found.url if found else crawl.seeds[0]


# --- words ----------------------------------------------------------------------------------------------------------


class RunStatus(StrEnum):
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class Word(StrEnum):
    """The states of the document; EXCLUDED is ours: ended without a request, by an operator's rule or a limit."""

    QUEUED = "QUEUED"
    IN_PROGRESS = "IN_PROGRESS"
    VISITED = "VISITED"
    REDIRECT_301 = "REDIRECT_301"
    REDIRECT_FOLLOWED = "REDIRECT_FOLLOWED"
    REDIRECT_OUT_OF_SCOPE = "REDIRECT_OUT_OF_SCOPE"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    HTTP_TERMINAL = "HTTP_TERMINAL"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXCLUDED = "EXCLUDED"


WORDS = {
    UrlState.QUEUED: Word.QUEUED,
    UrlState.IN_PROGRESS: Word.IN_PROGRESS,
    UrlState.VISITED: Word.VISITED,
    UrlState.FORBIDDEN: Word.FORBIDDEN,
    UrlState.NOT_FOUND: Word.NOT_FOUND,
    UrlState.HTTP_ERROR: Word.HTTP_TERMINAL,
    UrlState.FAILED: Word.FAILED,
    UrlState.EXCLUDED: Word.EXCLUDED,
    UrlState.CANCELLED: Word.CANCELLED,
}


def run_status(crawl: Crawl) -> RunStatus:
    """A cancelled run starts no request any more, so it is shown as what it will be."""
    if crawl.state is CrawlState.ENDING:
        return RunStatus.CANCELLED if crawl.reason == Reason.CANCELLED else RunStatus.RUNNING
    return RunStatus(crawl.state.upper())


def word_of(row: UrlRow, mode: RedirectMode) -> Word:
    if row.state is not UrlState.REDIRECTED:
        return WORDS[row.state]
    if row.status == 301:
        return Word.REDIRECT_301
    if mode is not RedirectMode.RECORD:
        if row.reason == Reason.REDIRECT_OUT_OF_SCOPE:
            return Word.REDIRECT_OUT_OF_SCOPE
        if not row.reason:
            return Word.REDIRECT_FOLLOWED
    return Word.HTTP_TERMINAL  # "other 3xx": recorded only, a loop, or no target


def counts_of(catalog: Catalog, crawl: Crawl, tallies: Mapping[str, int]) -> dict[Word, int]:
    """Of every word. What kind a redirect was the tallies do not say: it is counted, where there are any."""
    counts = dict.fromkeys(Word, 0)
    for state, word in WORDS.items():
        counts[word] += tallies.get(state, 0)
    redirected = tallies.get(UrlState.REDIRECTED, 0)
    if redirected:
        for word, count in _redirects(catalog, crawl, redirected).items():
            counts[word] += count
    return counts


def _redirects(catalog: Catalog, crawl: Crawl, redirected: int) -> dict[Word, int]:
    def count(status: int | None = None, reason: str | None = None) -> int:
        return catalog.count_urls(crawl.id, UrlFilter((UrlState.REDIRECTED,), status=status, reason=reason))

    moved = count(status=301)
    others = max(0, redirected - moved)
    if crawl.settings.redirects.mode is RedirectMode.RECORD:
        return {Word.REDIRECT_301: moved, Word.HTTP_TERMINAL: others}
    ends = {
        reason: count(reason=reason) - count(status=301, reason=reason)
        for reason in (Reason.REDIRECT_OUT_OF_SCOPE, Reason.REDIRECT_LOOP, Reason.REDIRECT_INVALID)
    }
    outside = ends[Reason.REDIRECT_OUT_OF_SCOPE]
    return {
        Word.REDIRECT_301: moved,
        Word.REDIRECT_OUT_OF_SCOPE: outside,
        Word.HTTP_TERMINAL: sum(ends.values()) - outside,
        Word.REDIRECT_FOLLOWED: max(0, others - sum(ends.values())),
    }


# --- what is answered -----------------------------------------------------------------------------------------------


class RunError(BaseModel):
    """The document's error body."""

    error: str


class NewRun(Camel):
    seed_url: str = Field(min_length=1, max_length=65_536, description="where the run begins")
    settings: RunSettings = RunSettings()


class Run(BaseModel):
    id: int
    seed_url: str
    normalized_seed_url: str
    root_url: str
    allowed_hosts: list[str]
    run_config: RunConfig
    status: RunStatus
    created_at: str
    completed_at: str | None


class RunState(Run):
    counters: dict[Word, int]
    total_urls: int


class RunSummary(RunState):
    terminal_urls: int
    requests: int
    retries: int
    bytes: int
    errors: dict[str, int]
    limited_by: str | None
    active_ms: int


class Runs(BaseModel):
    runs: list[Run]


class RunUrl(BaseModel):
    id: int
    normalized_url: str
    raw_url: str | None
    status: Word
    depth: int
    discovered_from_url_id: int | None
    http_status: int | None
    content_type: str | None
    redirect_to: str | None
    title: str | None
    retry_count: int
    error_class: str | None
    last_error: str | None
    claimed_by_worker: int | None
    claimed_at: str | None
    visited_at: str | None
    updated_at: str | None


class Pagination(BaseModel):
    total: int
    returned: int
    limit: int
    offset: int
    has_more: bool


class RunUrls(BaseModel):
    urls: list[RunUrl]
    pagination: Pagination


class Edge(BaseModel):
    discovered_from_url_id: int
    id: int


class RunGraph(BaseModel):
    run_id: int
    edges: list[Edge]
    returned: int
    has_more: bool


class Node(BaseModel):
    id: int
    normalized_url: str
    status: Word
    depth: int
    discovered_from_url_id: int | None


class GraphDelta(BaseModel):
    """The URLs found since `after_version`; ask again with `version`."""

    version: int
    nodes: list[Node]
    edges: list[Edge]
    has_more: bool


class Cancelled(BaseModel):
    status: RunStatus
    changed: bool
    cancelled_url_count: int


def run_fields(crawl: Crawl) -> dict[str, Any]:
    root = normalized_seed(crawl)
    return {
        "id": crawl.id,
        "seed_url": crawl.seeds[0],
        "normalized_seed_url": root,
        "root_url": root,
        "allowed_hosts": allowed_hosts(crawl),
        "run_config": config_of(crawl),
        "status": run_status(crawl),
        "created_at": iso_time(crawl.created_at),
        "completed_at": _time(crawl.ended_at),
    }


def url_fields(row: UrlRow, mode: RedirectMode) -> Record:
    return {
        "id": row.id,
        "normalized_url": row.url,
        "raw_url": row.raw_url,
        "status": word_of(row, mode),
        "depth": row.depth,
        "discovered_from_url_id": row.discovered_from,
        "http_status": row.status,
        "content_type": row.content_type,
        "redirect_to": row.redirect_to,
        "title": row.title,
        "retry_count": row.retries,
        "error_class": row.reason or None,
        "last_error": row.error,
        "claimed_by_worker": row.claimed_by,
        "claimed_at": _time(row.claimed_at),
        "visited_at": _time(row.fetched_at),
        "updated_at": _time(row.claimed_at or row.fetched_at),
    }


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_time(ms)


def edge_of(row: UrlRow) -> Edge | None:
    return None if row.discovered_from is None else Edge(discovered_from_url_id=row.discovered_from, id=row.id)


def node_of(row: UrlRow, mode: RedirectMode) -> Node:
    return Node(
        id=row.id,
        normalized_url=row.url,
        status=word_of(row, mode),
        depth=row.depth,
        discovered_from_url_id=row.discovered_from,
    )
