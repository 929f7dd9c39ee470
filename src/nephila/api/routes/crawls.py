"""Crawls: start, look, steer, end."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.concurrency import run_in_threadpool

from nephila import log
from nephila.api.access import Caller, Reader, Writer, guarded
from nephila.api.lookup import crawl_named, live_crawl_named
from nephila.api.problems import Problem
from nephila.api.query import After, CrawlRef, PlainText
from nephila.api.schemas import (
    CrawlDetail,
    CrawlList,
    Limits,
    NewCrawl,
    Pace,
    ProgressView,
    Purged,
    crawl_detail,
    crawl_view,
)
from nephila.api.services import Services, Shared, Store
from nephila.api.wishes import checked_settings
from nephila.control import crawls
from nephila.control.explain import known_url
from nephila.errors import UsageError
from nephila.frontier.operators import Access
from nephila.frontier.store import Crawl, UrlRow
from nephila.models import CrawlState, Reason, UrlState
from nephila.profiles import CrawlSettings

CRAWLS_DEFAULT, CRAWLS_MAX = 20, 100
OFFSET_MAX = 1_000_000
WAIT_SECONDS_MAX = 30
ROOT_SECONDS = 10  # waited for the root page of the form {url, depth}
ROOT_LOOK_SECONDS = 0.1
KEY_CHARS_MAX = 200

router = APIRouter(tags=["crawls"])

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
        description="seconds to wait for the root page: 404, 502 or 504 (and the crawl is cancelled) where it cannot "
        f"be had; default 0, with `url` {ROOT_SECONDS}",
    ),
]


@router.post("/crawls", status_code=201, **guarded(Access.WRITE, 404, 409, 413, 429, 502, 504))
async def create_crawl(
    shared: Shared, caller: Writer, body: NewCrawl, key: Key = None, wait: Wait = None
) -> CrawlDetail:
    """Start a crawl."""
    crawl = await run_in_threadpool(_create, shared, caller, body, key or "")
    seconds = wait if wait is not None else (ROOT_SECONDS if body.url is not None else 0)
    if seconds:
        await _await_root(shared, crawl, seconds)
    return await run_in_threadpool(_shown, shared, crawl.id)


def _create(shared: Services, caller: Caller, body: NewCrawl, key: str) -> Crawl:
    settings = _settings_of(caller, body)
    with shared.pool.use() as store:
        shared.quota.check(caller, store.catalog)
        try:
            own_key = f"{caller.name}:{key}" if key else ""
            crawl = crawls.create(store.catalog, _seeds_of(body), settings, own_key, caller.creator)
        except (crawls.Conflict, Problem):
            raise
        except UsageError as error:
            raise Problem(422, str(error), field="seeds" if body.seeds else "url") from None
    _say("crawl_started", crawl.id, caller)
    return crawl


def _seeds_of(body: NewCrawl) -> list[str]:
    return body.seeds or [body.url or ""]


def _settings_of(caller: Caller, body: NewCrawl) -> CrawlSettings:
    own = {} if body.depth is None else {"scope.max_depth": body.depth}
    profile = body.profile or ("default" if body.url is None else "graph")
    return checked_settings(caller, profile, own | body.settings)


def _shown(shared: Services, crawl_id: int) -> CrawlDetail:
    with shared.pool.use() as store:
        return _detail(store, store.catalog.crawl(crawl_id))


def _detail(store: Store, crawl: Crawl) -> CrawlDetail:
    return crawl_detail(crawls.as_it_is(store.catalog, crawl), store.catalog.tallies(crawl.id))


def _say(event: str, crawl_id: int, caller: Caller) -> None:
    log.component_log("control-plane").info(event, crawl=crawl_id, by=caller.name)


# --- the root page


async def _await_root(shared: Services, crawl: Crawl, seconds: int) -> None:
    """Looks now and then; no thread and no store is held meanwhile."""
    end = shared.clock.tick_ms() + seconds * 1000
    while True:  # ends by the clock
        row = await run_in_threadpool(_root, shared, crawl)
        expired = shared.clock.tick_ms() >= end
        problem = root_problem(row, expired=expired)
        if problem is not None:
            await run_in_threadpool(_give_up, shared, crawl)
            raise problem
        if expired or (row is not None and row.state.terminal):
            return
        await asyncio.sleep(ROOT_LOOK_SECONDS)


def _root(shared: Services, crawl: Crawl) -> UrlRow | None:
    with shared.pool.use() as store:
        return known_url(store.catalog, crawl, crawl.seeds[0])


def _give_up(shared: Services, crawl: Crawl) -> None:
    with shared.pool.use() as store:
        if not store.catalog.crawl(crawl.id).state.over:
            crawls.cancel(store.catalog, crawl.id)


def root_problem(row: UrlRow | None, *, expired: bool) -> Problem | None:
    """What 001 answers where the root cannot be had. Pure."""
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
    """An open row without a reason has simply not been answered yet."""
    if row.reason == Reason.TIMEOUT or (not row.reason and not row.state.terminal):
        return Problem(504, f"{row.url} did not answer in time", field="url")
    what = f"status {row.status}" if row.status else row.error or row.reason
    return Problem(502, f"{row.url} cannot be had: {what}", field="url")


# --- looking


@router.get("/crawls", **guarded(Access.READ))
def list_crawls(
    shared: Shared,
    status: Annotated[CrawlState | None, Query(description="only crawls in this status")] = None,
    limit: Annotated[int, Query(ge=1, le=CRAWLS_MAX)] = CRAWLS_DEFAULT,
    after: After = 0,
    offset: Annotated[int, Query(ge=0, le=OFFSET_MAX)] = 0,
) -> CrawlList:
    """The newest first."""
    with shared.pool.use() as store:
        found = [crawl for crawl in reversed(store.catalog.crawls()) if not after or crawl.id < after]
        shown = [crawls.as_it_is(store.catalog, crawl) for crawl in found]
        wanted = [crawl for crawl in shown if status is None or crawl.state is status][offset:]
        page = [crawl_view(crawl, store.catalog.tallies(crawl.id)) for crawl in wanted[:limit]]
    return CrawlList(crawls=page, next=page[-1].id if len(wanted) > limit else None)


@router.get("/crawls/{crawl}", **guarded(Access.READ, 404))
def get_crawl(shared: Shared, crawl: CrawlRef) -> CrawlDetail:
    with shared.pool.use() as store:
        return _detail(store, crawl_named(store, crawl))


@router.get("/crawls/{crawl}/progress", **guarded(Access.READ, 404))
async def get_progress(shared: Shared, crawl: CrawlRef, _caller: Reader) -> ProgressView:
    """At most a second old; asking often costs nothing and hurries nothing."""
    crawl_id = await run_in_threadpool(_number, shared, crawl)
    return ProgressView.model_validate(await shared.hub.snapshot(crawl_id))


def _number(shared: Services, reference: str) -> int:
    with shared.pool.use() as store:
        return crawl_named(store, reference).id


# --- steering


@router.post("/crawls/{crawl}/pause", **guarded(Access.WRITE, 404, 409))
def pause_crawl(shared: Shared, crawl: CrawlRef, caller: Writer) -> CrawlDetail:
    """Answers when no worker will start another request of it."""
    with shared.pool.use() as store:
        found = live_crawl_named(store, crawl)
        if found.state is CrawlState.ENDING:
            raise Problem(409, f"crawl {found.id} is ending: it cannot be paused any more")
        crawls.pause(store.catalog, found.id, f"by {caller.name}")
        _say("crawl_paused", found.id, caller)
        return _detail(store, store.catalog.crawl(found.id))


@router.post("/crawls/{crawl}/resume", **guarded(Access.WRITE, 404, 409))
def resume_crawl(shared: Shared, crawl: CrawlRef, caller: Writer) -> CrawlDetail:
    with shared.pool.use() as store:
        found = crawls.go_on(store.catalog, live_crawl_named(store, crawl).id)
        _say("crawl_resumed", found.id, caller)
        return _detail(store, found)


@router.post("/crawls/{crawl}/cancel", **guarded(Access.WRITE, 404, 409))
def cancel_crawl(shared: Shared, crawl: CrawlRef, caller: Writer) -> CrawlDetail:
    """Answers when no worker will start another request of it; its open URLs end `cancelled`."""
    with shared.pool.use() as store:
        return _cancelled(store, live_crawl_named(store, crawl), caller)


def _cancelled(store: Store, crawl: Crawl, caller: Caller) -> CrawlDetail:
    if crawl.state is not CrawlState.ENDING:
        crawls.cancel(store.catalog, crawl.id)
        _say("crawl_cancelled", crawl.id, caller)
    return _detail(store, store.catalog.crawl(crawl.id))


@router.delete("/crawls/{crawl}", **guarded(Access.WRITE, 404, 409))
def delete_crawl(
    shared: Shared,
    crawl: CrawlRef,
    caller: Writer,
    purge: Annotated[bool, Query(description="remove the rows and files of a crawl that is over")] = False,
) -> CrawlDetail | Purged:
    """Cancel a crawl; with `purge`, remove one that is over."""
    with shared.pool.use() as store:
        if not purge:
            return _cancelled(store, live_crawl_named(store, crawl), caller)
        found = crawl_named(store, crawl)
        if not found.state.over:
            raise Problem(409, f"crawl {found.id} is {found.state}: cancel it first, then purge it")
        rows, files = crawls.delete(store.catalog, store.upkeep, shared.settings.archive_folder, found.id)
        _say("crawl_purged", found.id, caller)
        return Purged(rows=rows, files=files)


@router.patch("/crawls/{crawl}/pace", **guarded(Access.WRITE, 404, 409))
def change_pace(shared: Shared, crawl: CrawlRef, body: Pace, caller: Writer) -> CrawlDetail:
    """Rate limits of a crawl that is not over; workers follow with their next flush."""
    with shared.pool.use() as store:
        found = live_crawl_named(store, crawl)
        polite = found.settings.polite.model_copy(update=body.model_dump(exclude_none=True))
        store.catalog.change_settings(found.id, found.settings.model_copy(update={"polite": polite}))
        _say("pace_changed", found.id, caller)
        return _detail(store, store.catalog.crawl(found.id))


@router.patch("/crawls/{crawl}/limits", **guarded(Access.WRITE, 404, 409))
def change_limits(shared: Shared, crawl: CrawlRef, body: Limits, caller: Writer) -> CrawlDetail:
    """Where a crawl ends that is not over; workers follow with their next flush.

    What a limit has ended stays ended, and what it has refused stays refused: a higher one lets the rest go on.
    """
    with shared.pool.use() as store:
        found = crawls.change_limits(store.catalog, crawl_named(store, crawl), body.model_dump(exclude_unset=True))
        _say("limits_changed", found.id, caller)
        return _detail(store, found)
