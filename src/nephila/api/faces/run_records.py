"""A crawl in the words of document 000: settings, states, rows. Pure, but for counting redirects."""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nephila.api.faces import Camel, CamelBody, Stamp, shown_state
from nephila.control.export import Record, iso_time
from nephila.errors import UsageError
from nephila.fetch.manners import FLOOR, PUBLIC_FLOOR_MS, is_own
from nephila.frontier.listings import Listings
from nephila.frontier.records import RedirectEnd, UrlFilter, UrlRow
from nephila.frontier.rows import redirect_end
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, Kind, UrlState
from nephila.profiles import PROFILES, CrawlSettings, RedirectMode, ScopeMode, crawl_settings, environment_settings
from nephila.urls.admission import Admission
from nephila.urls.identity import hostname_of
from nephila.urls.scope import hosts_of_scope

PROFILE = "strict"
OWN_FLOOR_MS = int(PROFILES[PROFILE]["polite"]["floor_ms"])

# --- settings -------------------------------------------------------------------------------------------------------

# Requirement A-12: the environment of the control plane gives the settings that a request leaves out.
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


class StrictBody(CamelBody):
    """A body in which text is not taken for a number."""

    model_config = ConfigDict(strict=True)


class RunSettings(StrictBody):
    """What a run may do. What is left out comes from the environment of the control plane, then from here."""

    max_pages: int = Field(5000, ge=1, le=10**9, description="URLs that the run takes up at all", examples=[5000])
    max_depth: int = Field(25, ge=0, le=10**6, description="links away from the seed", examples=[25])
    scope_mode: Literal["same_host", "same_domain"] = Field(
        "same_host",
        description="the seed's host and its www counterpart, or its registrable domain",
        examples=["same_host"],
    )
    include_documents: bool = Field(
        False,
        description="links to images, archives, PDFs and the like are taken up, too; not what pages embed",
        examples=[False],
    )
    follow_redirects: bool = Field(
        True, description="the target of a redirect becomes a URL of its own", examples=[True]
    )
    demo_delay_ms: int = Field(
        0,
        ge=0,
        le=60_000,
        description="a pause of the whole run after each of its requests, in milliseconds",
        examples=[0],
    )
    request_timeout_ms: int = Field(
        5000, ge=1, le=3_600_000, description="deadline of one request, in milliseconds", examples=[5000]
    )
    max_retries: int = Field(2, ge=0, le=100, description="tries of a URL after the first one", examples=[2])


class RunConfig(Camel):
    """The settings as they are stored with the run."""

    max_pages: int | None = Field(description="URLs that the run takes up at all; null: no limit", examples=[5000])
    max_depth: int = Field(description="links away from the seed that it goes", examples=[25])
    scope_mode: str = Field(
        description="`same_host`: the seed's host and its www counterpart; `same_domain`: its registrable domain",
        examples=["same_host"],
    )
    include_documents: bool = Field(
        description="whether links to images, archives, PDFs and the like are taken up, too", examples=[False]
    )
    follow_redirects: bool = Field(
        description="whether the target of a redirect becomes a URL of its own", examples=[True]
    )
    demo_delay_ms: int = Field(
        description="pause of the whole run after each of its requests, in milliseconds", examples=[0]
    )
    request_timeout_ms: int = Field(description="deadline of one request, in milliseconds", examples=[5000])
    max_retries: int = Field(description="tries of a URL after the first one", examples=[2])
    min_gap_per_host_ms: int = Field(
        description="milliseconds between two requests to a host: 40 on one's own hosts, 1,000 on public ones",
        examples=[1000],
    )


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


def settings_for(run: RunSettings, seed: str, *, allow_private: bool, own_hosts: Sequence[str] = ()) -> CrawlSettings:
    return crawl_settings(
        PROFILE,
        environment_settings(os.environ)
        | {
            "limits.max_urls": run.max_pages,  # the document counts discovered URLs
            "scope.max_depth": run.max_depth,
            "scope.mode": run.scope_mode,
            "scope.include_documents": run.include_documents,
            "redirects.mode": RedirectMode.ENQUEUE if run.follow_redirects else RedirectMode.RECORD,
            "polite.floor_ms": floor_of(seed, own_hosts),
            "polite.pause_ms": run.demo_delay_ms,
            "fetch.total_timeout_ms": run.request_timeout_ms,
            "fetch.allow_private": allow_private,
            "retry.max": run.max_retries,
        },
    )


def floor_of(seed: str, own_hosts: Sequence[str] = ()) -> int:
    """The document's gap, which the environment may set; a host that is not one's own has at least the usual one."""
    gap = environment_settings(os.environ).get(FLOOR, OWN_FLOOR_MS)
    return gap if is_own(hostname_of(seed), own_hosts) else max(gap, PUBLIC_FLOOR_MS)


def config_of(crawl: Crawl) -> RunConfig:
    settings = crawl.settings
    return RunConfig(
        max_pages=settings.limits.max_urls,
        max_depth=settings.scope.max_depth,
        scope_mode=settings.scope.mode,
        include_documents=settings.scope.include_documents,
        follow_redirects=settings.redirects.mode is not RedirectMode.RECORD,
        demo_delay_ms=settings.polite.pause_ms,
        request_timeout_ms=settings.fetch.total_timeout_ms,
        max_retries=settings.retry.max,
        min_gap_per_host_ms=settings.polite.floor_ms,
    )


def allowed_hosts(crawl: Crawl) -> list[str]:
    """The hosts that the scope named when the run began, and those that joined it; empty where it allows every host."""
    scope = crawl.settings.scope
    joined = crawl.joined_hosts if scope.mode is ScopeMode.LIST else hosts_of_scope(scope, crawl.joined_hosts)
    return list(dict.fromkeys((*crawl.allowed_hosts, *joined)))


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
    """The states of the document. EXCLUDED and EVICTED are ours: ended without a request, by a rule or a limit."""

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
    EVICTED = "EVICTED"


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
    UrlState.EVICTED: Word.EVICTED,
}


def run_status(crawl: Crawl) -> RunStatus:
    state = shown_state(crawl)
    return RunStatus.RUNNING if state is CrawlState.ENDING else RunStatus(state.upper())


REDIRECT_WORDS = {
    RedirectEnd.MOVED: Word.REDIRECT_301,
    RedirectEnd.FOLLOWED: Word.REDIRECT_FOLLOWED,
    RedirectEnd.LEFT: Word.REDIRECT_OUT_OF_SCOPE,
    RedirectEnd.STOPPED: Word.HTTP_TERMINAL,
}


def redirect_word(end: RedirectEnd, mode: RedirectMode) -> Word:
    """Where redirects are only recorded, all but 301 are the document's "other 3xx"."""
    if mode is RedirectMode.RECORD and end is not RedirectEnd.MOVED:
        return Word.HTTP_TERMINAL
    return REDIRECT_WORDS[end]


def word_of(row: UrlRow, mode: RedirectMode) -> Word:
    if row.state is not UrlState.REDIRECTED:
        return WORDS[row.state]
    return redirect_word(redirect_end(row.status == 301, row.reason), mode)


def filter_of(word: Word | None, mode: RedirectMode) -> UrlFilter | None:
    """The filter that lets exactly the URLs of a word through; None: a run in this mode can have none."""
    if word is None:
        return UrlFilter(kind=Kind.PAGE)
    states = [state for state, its_word in WORDS.items() if its_word is word]
    ends = [end for end in REDIRECT_WORDS if redirect_word(end, mode) is word]
    if not ends:
        return UrlFilter(tuple(states), kind=Kind.PAGE) if states else None
    plain = [RedirectEnd.NONE] if states else []
    return UrlFilter((*states, UrlState.REDIRECTED), redirects=(*plain, *ends), kind=Kind.PAGE)


def counts_of(catalog: Listings, crawl: Crawl, tallies: Mapping[str, int]) -> dict[Word, int]:
    """URLs by word. Tallies do not distinguish redirects: where there are any, their rows are counted."""
    counts = dict.fromkeys(Word, 0)
    for state, word in WORDS.items():
        counts[word] += tallies.get(state, 0)
    if tallies.get(UrlState.REDIRECTED, 0):
        for end, count in catalog.redirects(crawl.id).items():
            counts[redirect_word(end, crawl.settings.redirects.mode)] += count
    return counts


# --- what is answered -----------------------------------------------------------------------------------------------


class RunError(BaseModel):
    """The document's error body."""

    error: str = Field(description="what is wrong, in one line", examples=["Run not found"])


class NewRun(StrictBody):
    seed_url: str = Field(
        min_length=1,
        max_length=65_536,
        description="where the run begins: a URL or a bare domain",
        examples=["https://example.com/"],
    )
    settings: RunSettings = Field(
        RunSettings(),
        description="what the run may do; what is left out comes from the environment of the control plane",
    )


class RunView(BaseModel):
    id: int = Field(description="the run's id, which is the crawl's number", examples=[7])
    seed_url: str = Field(description="as it was sent", examples=["example.com"])
    normalized_seed_url: str = Field(description="as it is asked for", examples=["https://example.com/"])
    root_url: str = Field(description="the same: the first URL of the run", examples=["https://example.com/"])
    allowed_hosts: list[str] = Field(
        description="hosts that the run may go to; empty: every host", examples=[["example.com", "www.example.com"]]
    )
    run_config: RunConfig = Field(description="the settings as they are stored with the run")
    status: RunStatus = Field(description="where the run is in its life", examples=["RUNNING"])
    created_at: Stamp = Field(description="when it was started", examples=["2026-03-02T09:30:00.000Z"])
    completed_at: Stamp | None = Field(description="when it ended; null: it has not", examples=[None])


class RunState(RunView):
    counters: dict[Word, int] = Field(
        description="URLs by status",
        examples=[{"QUEUED": 203, "IN_PROGRESS": 12, "VISITED": 980, "REDIRECT_301": 35, "NOT_FOUND": 8, "FAILED": 2}],
    )
    total_urls: int = Field(description="URLs that are known", examples=[1240])


class RunSummary(RunState):
    terminal_urls: int = Field(description="URLs that have ended", examples=[1025])
    requests: int = Field(description="requests that came to an end, with an answer or an error", examples=[1041])
    retries: int = Field(description="tries after the first one of a URL", examples=[6])
    bytes: int = Field(description="bytes received in bodies", examples=[48210344])
    errors: dict[str, int] = Field(
        description="URLs that ended with an error, by kind", examples=[{"not_found": 8, "timeout": 2}]
    )
    limited_by: str | None = Field(
        description="the limit that ended it or refused some of its links; null: none", examples=[None]
    )
    active_ms: int = Field(description="milliseconds that it ran, pauses not counted", examples=[2561000])


class Runs(BaseModel):
    runs: list[RunView] = Field(description="the latest runs, the last one first")


class RunUrl(BaseModel):
    id: int = Field(description="number of the URL: later ones were found later", examples=[815])
    normalized_url: str = Field(description="as it is compared and asked for", examples=["https://example.com/docs/"])
    raw_url: str | None = Field(description="the href as it was seen; null: the seed", examples=["../docs/"])
    status: Word = Field(description="where it is in its life", examples=["VISITED"])
    depth: int = Field(description="links away from the seed", examples=[2])
    discovered_from_url_id: int | None = Field(
        description="id of the URL that it was found on; null: the seed", examples=[1]
    )
    http_status: int | None = Field(description="status of its last answer; null: none came", examples=[200])
    content_type: str | None = Field(
        description="Content-Type of its last answer", examples=["text/html; charset=utf-8"]
    )
    redirect_to: str | None = Field(description="where its answer leads; null: it is no redirect", examples=[None])
    title: str | None = Field(description="title of the page; null: it has none", examples=["Documentation"])
    retry_count: int = Field(description="tries after the first", examples=[0])
    error_class: str | None = Field(description="kind of its last error; null: none", examples=[None])
    last_error: str | None = Field(description="what went wrong last, in words; null: nothing", examples=[None])
    claimed_by_worker: int | None = Field(description="the worker that asks for it now; null: none", examples=[None])
    claimed_at: str | None = Field(description="when that worker took it up; null: none has", examples=[None])
    visited_at: str | None = Field(
        description="when its last answer came; null: none came", examples=["2026-03-02T09:30:00.000Z"]
    )
    updated_at: str | None = Field(
        description="when it was found, taken up, tried again or ended last", examples=["2026-03-02T09:30:00.000Z"]
    )


class Pagination(BaseModel):
    total: int = Field(description="URLs of this status, in all", examples=[1240])
    returned: int = Field(description="URLs in this answer", examples=[1])
    limit: int = Field(description="the most that an answer has", examples=[200])
    offset: int = Field(description="URLs that were skipped", examples=[0])
    has_more: bool = Field(description="whether there are URLs behind these", examples=[True])


class RunUrls(BaseModel):
    urls: list[RunUrl] = Field(description="a page of URLs")
    pagination: Pagination = Field(description="where this page lies")


class Edge(BaseModel):
    discovered_from_url_id: int = Field(description="id of the page", examples=[1])
    id: int = Field(description="id of the URL that was found on it", examples=[815])


class RunGraph(BaseModel):
    run_id: int = Field(description="the run's id", examples=[7])
    edges: list[Edge] = Field(description="who was found on which page, in the order of their ids")
    returned: int = Field(description="edges in this answer", examples=[1])
    has_more: bool = Field(description="whether there are more than `limit`", examples=[False])


class RunNode(BaseModel):
    id: int = Field(description="number of the URL", examples=[815])
    normalized_url: str = Field(description="as it is compared and asked for", examples=["https://example.com/docs/"])
    status: Word = Field(description="where it is in its life", examples=["VISITED"])
    depth: int = Field(description="links away from the seed", examples=[2])
    discovered_from_url_id: int | None = Field(
        description="id of the URL that it was found on; null: the seed", examples=[1]
    )


class GraphDelta(BaseModel):
    """The URLs that were found or changed since `after_version`; ask again with `version`."""

    version: int = Field(description="give it as `after_version` of the next request", examples=[4711])
    nodes: list[RunNode] = Field(description="URLs that were found or have changed")
    edges: list[Edge] = Field(description="of these, who was found on which page")
    has_more: bool = Field(description="ask again at once: there are more than `limit`", examples=[False])


class Cancelled(BaseModel):
    status: RunStatus = Field(description="where the run is now", examples=["CANCELLED"])
    changed: bool = Field(description="false: it was over before, and stays as it was", examples=[True])
    cancelled_url_count: int = Field(description="its URLs that end without a request because of this", examples=[215])


def run_fields(crawl: Crawl) -> dict[str, Any]:
    root = normalized_seed(crawl)
    return {
        "id": crawl.id,
        "seed_url": crawl.seed_sent,
        "normalized_seed_url": root,
        "root_url": root,
        "allowed_hosts": allowed_hosts(crawl),
        "run_config": config_of(crawl),
        "status": run_status(crawl),
        "created_at": crawl.created_at,
        "completed_at": crawl.ended_at,
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
        "updated_at": _time(row.updated_at),
    }


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_time(ms)


def edge_of(row: UrlRow) -> Edge | None:
    return None if row.discovered_from is None else Edge(discovered_from_url_id=row.discovered_from, id=row.id)


def node_of(row: UrlRow, mode: RedirectMode) -> RunNode:
    return RunNode.model_validate(url_fields(row, mode))
