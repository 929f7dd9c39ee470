"""New crawls: what a request may ask for, and the wait for the root page."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Header, Query, Response
from pydantic import ConfigDict, Field, model_validator
from starlette.concurrency import run_in_threadpool

from nephila.api.access import Caller, Writer, guarded
from nephila.api.lookup import crawl_named
from nephila.api.problems import Problem, blaming
from nephila.api.query import CrawlRef, PlainText
from nephila.api.requested_settings import check_loosened, checked_settings
from nephila.api.routers import noun_router
from nephila.api.routes.crawls import (
    LABELS_HELP,
    NAME_HELP,
    CrawlDetail,
    LabelTexts,
    NameText,
    check_quota,
    detail_of,
)
from nephila.api.schemas import Body, Moment, View
from nephila.api.services import Services, Shared
from nephila.control import crawls
from nephila.control.access import allows
from nephila.control.explain import Standing, known_url, standing
from nephila.control.notices import notices_of
from nephila.errors import SettingRefused
from nephila.fetch.manners import mannered
from nephila.frontier.records import UrlRow
from nephila.frontier.store import UNNAMED, Crawl, Naming
from nephila.frontier.tokens import Access
from nephila.models import Reason, UrlState
from nephila.profiles import CrawlSettings
from nephila.settings import user_agent_of

SEEDS_MAX = 100_000  # of one request; more come by the command line
DEPTH_MAX = 5  # of the form {url, depth}
WAIT_SECONDS_MAX = 30
ROOT_SECONDS = 10  # how long the form {url, depth} waits for the root page
ROOT_LOOK_SECONDS = 0.1
KEY_CHARS_MAX = 200
PRIVATE_WAY = "give settings.fetch.allow_private (it needs access admin) if it is yours to crawl"
NOTHING_CHOSEN: Mapping[str, str] = {}

router = noun_router("crawls")

Seed = Annotated[str, Field(min_length=1, max_length=65_536)]
Key = Annotated[
    PlainText | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=KEY_CHARS_MAX,
        description="a second request with the same key and body answers the crawl of the first",
    ),
]
Wait = Annotated[
    int | None,
    Query(
        ge=0,
        le=WAIT_SECONDS_MAX,
        description="seconds to wait for the root page: 404, 502 or 504 (and the crawl is deleted) where it cannot "
        "be had; 202 where its host rests or its turn comes later: the crawl goes on, and `waiting` says until when "
        f"and why; default 0, with `url` {ROOT_SECONDS}",
    ),
]


class NewCrawl(Body):
    """Seeds, or one `url` with a `depth` (then the profile is `graph` and the root page is waited for). Neither is
    needed where the setting sitemaps.urls names sitemaps."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"seeds": ["https://example.com/"], "settings": {"limits.max_pages": 100, "polite.floor_ms": 2000}},
                {"url": "https://example.com/", "depth": 2},
            ]
        },
    )

    seeds: list[Seed] | None = Field(
        None,
        min_length=1,
        max_length=SEEDS_MAX,
        description="where to begin: URLs, or bare domains, which get `https://`",
        examples=[["https://example.com/"]],
    )
    url: Seed | None = Field(None, description="one root URL, instead of `seeds`", examples=["https://example.com/"])
    depth: int | None = Field(
        None, ge=1, le=DEPTH_MAX, description="links away from `url` that the crawl goes; only with `url`", examples=[2]
    )
    profile: str | None = Field(
        None,
        max_length=50,
        description="the set of defaults to start from; GET /api/v1/settings lists them",
        examples=["default"],
    )
    settings: dict[str, Any] = Field(
        {},
        max_length=200,
        description="what differs from the profile, by name; GET /api/v1/settings lists all names with their bounds",
        examples=[{"limits.max_pages": 100, "polite.floor_ms": 2000}],
    )

    name: NameText = Field("", description=f"what people call it: {NAME_HELP}", examples=["Docs, weekly"])
    labels: LabelTexts = Field(
        [], description=f"what it is found by: {LABELS_HELP}", examples=[["nightly", "team=docs"]]
    )

    @model_validator(mode="after")
    def _one_form(self) -> "NewCrawl":
        listed = self.seeds is None and self.url is None and bool(self.settings.get("sitemaps.urls"))
        if (self.seeds is None) == (self.url is None) and not listed:
            raise ValueError("give either `seeds` or `url`")
        if self.depth is not None and self.url is None:
            raise ValueError("`depth` goes with `url`; with `seeds` set scope.max_depth")
        return self


class RootWait(View):
    """What the root page of a crawl waits for."""

    until: Moment | None = Field(
        description="when it may be asked for; null: as soon as its turn comes", examples=["2026-03-02T09:30:00Z"]
    )
    seconds: float | None = Field(
        description="the same, in seconds from now; null: as soon as its turn comes", examples=[30.0]
    )
    reason: str = Field(
        description="of the host's rest (retry_after, backoff, ...), delay, blocked, or turn", examples=["retry_after"]
    )
    message: str = Field(
        description="the same as a sentence", examples=["example.com asked for a rest of 30 s (Retry-After)"]
    )


class WaitingCrawl(CrawlDetail):
    waiting: RootWait = Field(description="what its root page waits for")


ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": WaitingCrawl, "description": "accepted; its root page waits, and the crawl goes on"}
}


@router.post("/crawls", status_code=201, **guarded(Access.WRITE, 404, 409, 413, 429, 502, 504, answers=ACCEPTED))
async def create_crawl(
    shared: Shared, caller: Writer, body: NewCrawl, response: Response, key: Key = None, wait: Wait = None
) -> WaitingCrawl | CrawlDetail:
    """Start a crawl.

    Give `seeds`, or one `url` with a `depth`. The answer comes as soon as the crawl is stored; with `wait` (and always
    with `url`) it comes when the root page was had, and an error says where it could not. Send an `Idempotency-Key` so
    that a request that is sent twice starts one crawl.
    """
    crawl = await run_in_threadpool(_create, shared, caller, body, key or "")
    seconds = wait if wait is not None else (ROOT_SECONDS if body.url is not None else 0)
    waiting = await _await_root(shared, crawl, seconds) if seconds else None
    shown = await run_in_threadpool(_shown, shared, crawl.id)
    if waiting is None:
        return shown
    response.status_code = 202
    response.headers["Retry-After"] = str(math.ceil(waiting.seconds or ROOT_LOOK_SECONDS))
    return WaitingCrawl(**dict(shown), waiting=waiting)


class RunAgain(Body):
    """What is to be otherwise than in the crawl that runs again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"settings": {"limits.max_pages": 500}}]})

    settings: dict[str, Any] = Field(
        {},
        max_length=200,
        description="what differs from the settings of that crawl: GET /api/v1/settings lists all names",
        examples=[{"limits.max_pages": 500}],
    )
    name: NameText | None = Field(
        None, description=f"another name than that crawl has: {NAME_HELP}", examples=["Docs, weekly"]
    )
    labels: LabelTexts | None = Field(
        None, description=f"other labels than that crawl has: {LABELS_HELP}", examples=[["nightly", "team=docs"]]
    )


@router.post("/crawls/{crawl}/again", status_code=201, **guarded(Access.WRITE, 404, 409, 413, 429))
def run_again(
    shared: Shared, caller: Writer, crawl: CrawlRef, body: RunAgain | None = None, key: Key = None
) -> CrawlDetail:
    """Start a new crawl with the seeds and the settings of this one.

    It has its name and labels, too, and all of its settings as they are now, whatever profile and environment say
    today. Credentials among them (of a proxy, in headers) go only where an admin sends them.
    """
    with shared.pool.use() as store:
        model = crawl_named(store, crawl)
    if model.settings != model.settings.redacted() and not allows(caller.access, Access.ADMIN):
        raise Problem(403, f"crawl {model.id} has credentials among its settings: to run it again needs access admin")
    given = body.settings if body else {}
    wanted = model.settings.values() | given
    settings = checked_settings(caller, model.settings.profile, wanted, private_proxies=shared.settings.permits_private)
    chosen = {name: f"settings.{name}" for name in wanted}
    naming = _naming_like(model.naming, body)
    made = start_crawl(
        shared, caller, model.seeds, settings, field="crawl", key=key or "", chosen=chosen, naming=naming
    )
    return _shown(shared, made.id)


def _naming_like(usual: Naming, body: RunAgain | None) -> Naming:
    if body is None:
        return usual
    name = usual.name if body.name is None else body.name
    return Naming(name, usual.labels if body.labels is None else tuple(body.labels))


def _create(shared: Services, caller: Caller, body: NewCrawl, key: str) -> Crawl:
    depth = {} if body.depth is None else {"scope.max_depth": body.depth}
    profile = body.profile or ("default" if body.url is None else "graph")
    private = shared.settings.permits_private
    settings = checked_settings(caller, profile, depth | body.settings, private_proxies=private)
    seeds, field = body.seeds or ([body.url] if body.url is not None else []), "seeds" if body.seeds else "url"
    chosen = {name: f"settings.{name}" for name in body.settings}
    naming = Naming(body.name, tuple(body.labels))
    return start_crawl(shared, caller, seeds, settings, field=field, key=key, chosen=chosen, naming=naming)


def start_crawl(
    shared: Services,
    caller: Caller,
    seeds: Sequence[str],
    settings: CrawlSettings,
    *,
    field: str,
    key: str = "",
    private_way: str = "",
    chosen: Mapping[str, str] = NOTHING_CHOSEN,
    naming: Naming = UNNAMED,
) -> Crawl:
    """A new crawl of the caller's, or the one that the same request (`key`) has made; `field` is the seeds' name.

    `private_way`: how private seeds are permitted, where it is not by a setting. `chosen`: the fields of the request by
    the settings that they give. What only the profile loosens holds on one's own hosts and nowhere else.
    """
    own_key = f"{caller.name}:{key}" if key else ""
    with blaming(field):
        checked = crawls.checked_seeds(seeds, settings)
    try:
        manners = mannered(settings, checked, shared.settings.own_hosts, chosen)
    except SettingRefused as refused:
        name = f"settings.{refused.setting}"
        raise Problem(422, str(refused.at(name)), field=name) from None
    check_loosened(caller, manners.chosen, manners.foreign, chosen)
    with shared.pool.use() as store:
        check_quota(caller, store.catalog, shared.settings.token_crawls_max)
        with blaming(field):
            try:
                crawl = crawls.create(store.catalog, seeds, manners.settings, own_key, caller.creator, naming)
            except crawls.PrivateSeed as error:
                raise crawls.PrivateSeed(error.seed, error.detail, private_way or PRIVATE_WAY) from None
    caller.log("crawl_started", crawl=crawl.id)
    for notice in notices_of(crawl, shared.settings):
        caller.warn(notice.event, crawl=crawl.id, detail=notice.text)
    return crawl


def _shown(shared: Services, crawl_id: int) -> CrawlDetail:
    with shared.pool.use() as store:
        return detail_of(shared, store, store.catalog.crawl(crawl_id))


# --- the root page


async def _await_root(shared: Services, crawl: Crawl, seconds: int) -> RootWait | None:
    """Looks every ROOT_LOOK_SECONDS. Between two looks neither a thread nor a store is held.

    Answers what the root waits for, where it cannot be asked for in time.
    """
    end = shared.clock.tick_ms() + seconds * 1000
    while True:  # ends by the clock
        left_ms = end - shared.clock.tick_ms()
        row, waiting = await run_in_threadpool(_look, shared, crawl, left_ms)
        if waiting is not None:
            return waiting
        problem = root_problem(row, expired=left_ms <= 0)
        if problem is not None:
            await run_in_threadpool(_give_up, shared, crawl)
            raise problem
        if left_ms <= 0 or (row is not None and row.state.terminal):
            return None
        await asyncio.sleep(ROOT_LOOK_SECONDS)


def _look(shared: Services, crawl: Crawl, left_ms: float) -> tuple[UrlRow | None, RootWait | None]:
    with shared.pool.use() as store:
        row = known_url(store.catalog, crawl, crawl.seeds[0])
        if row is None or row.state is not UrlState.QUEUED:
            return row, None
        user_agent = user_agent_of(crawl.settings, shared.settings)
        found = standing(store.catalog, store.rulebook.rulings(), crawl, row, user_agent)
        workers = left_ms <= 0 and any(worker.alive for worker in store.catalog.workers())
    return row, root_wait(row, found, left_ms, shared.clock.now_ms(), workers=workers)


def root_wait(row: UrlRow, found: Standing, left_ms: float, now_ms: int, *, workers: bool) -> RootWait | None:
    """What a queued root is waited for; None: look again, or it cannot be had. Pure.

    A site that failed, or whose name does not exist, is not waited for unless it asked for patience itself. `workers`:
    some are there, so that its turn will come.
    """
    if found.nameless or (row.reason not in (Reason.NONE, Reason.RATE_LIMITED) and not found.hinted):
        return None
    if found.wait_ms > max(0, left_ms):
        until, seconds = now_ms + round(found.wait_ms), round(found.wait_ms / 1000, 1)
        return RootWait(until=until, seconds=seconds, reason=found.reason, message=found.verdict)
    if left_ms <= 0 and workers:
        return RootWait(until=None, seconds=None, reason="turn", message=found.verdict)
    return None


def _give_up(shared: Services, crawl: Crawl) -> None:
    """End and delete a crawl whose root cannot be had: its caller gets an error and never learns its number."""
    with shared.pool.use() as store:
        if not store.catalog.crawl(crawl.id).state.over:
            crawls.cancel(store.catalog, crawl.id)
        crawls.delete(store.catalog, store.upkeep, store.archive, crawl.id)


def root_problem(row: UrlRow | None, *, expired: bool) -> Problem | None:
    """What document 001 answers where the root page cannot be had. Pure."""
    if row is None:
        return Problem(504, "the root page was not reached in time") if expired else None
    match row.state:
        case UrlState.NOT_FOUND:
            return Problem(404, f"{row.url} is not there (status {row.status})", field="url")
        case UrlState.FORBIDDEN | UrlState.HTTP_ERROR | UrlState.FAILED:
            return _unreachable(row)
        case UrlState.QUEUED | UrlState.IN_PROGRESS if expired:
            return _unreachable(row)
    return None


def _unreachable(row: UrlRow) -> Problem:
    """504 for a timeout and for an open row without a reason, which has not been answered yet; else 502."""
    if row.reason == Reason.TIMEOUT or (not row.reason and not row.state.terminal):
        return Problem(504, f"{row.url} did not answer in time", field="url")
    what = f"status {row.status}" if row.status else row.error or row.reason
    return Problem(502, f"{row.url} cannot be had: {what}", field="url")
