"""The API of document 000 (/crawl-runs ...): its paths, limits and error body over our own crawls.

A run is a crawl and its id is the crawl's number. Crawls that were made elsewhere are shown in the same words.
"""

import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from nephila.api.access import Writer, guarded
from nephila.api.faces import Format, create, exported, may_go_private, streamed
from nephila.api.faces.run_records import (
    WORDS,
    Cancelled,
    GraphDelta,
    NewRun,
    Pagination,
    Run,
    RunError,
    RunGraph,
    Runs,
    RunState,
    RunStatus,
    RunSummary,
    RunUrl,
    RunUrls,
    Word,
    counts_of,
    edge_of,
    merged,
    node_of,
    run_fields,
    run_status,
    settings_for,
    url_fields,
    word_of,
)
from nephila.api.problems import CODES, Problem, plain, problem_of
from nephila.api.query import known_query
from nephila.api.services import Shared, lent_catalog
from nephila.control import crawls
from nephila.control.export import rows_of
from nephila.control.progress import ended_of, errors_of
from nephila.errors import NephilaError, UsageError
from nephila.frontier.operators import Access
from nephila.frontier.store import Catalog, Crawl, UrlFilter, UrlRow, UrlSort
from nephila.models import CrawlState, UrlState

RUNS_SHOWN, RUNS_SHOWN_MAX = 20, 100
URLS_SHOWN, URLS_SHOWN_MAX = 200, 50_000
EXPORT_ROWS, EXPORT_ROWS_MAX = 50_000, 10_000_000
EDGES_SHOWN, EDGES_SHOWN_MAX = 50_000, 100_000
DELTA_SHOWN, DELTA_SHOWN_MAX = 1000, 10_000
PICKED_ROWS_MAX = 50_000  # looked through for a word that is finer than our states
RECENT_MS = 1000.0  # however many clients poll a run, the store is asked for it once in this time
RECENT_RUNS_MAX = 1000
FILTERS: dict[Word | None, UrlFilter] = {None: UrlFilter()} | {
    word: UrlFilter(states=(state,)) for state, word in WORDS.items() if word is not Word.HTTP_TERMINAL
}
FILTERS[Word.REDIRECT_301] = UrlFilter(states=(UrlState.REDIRECTED,), status=301)
SORTS = {
    "id": UrlSort.ID,
    "visited_at": UrlSort.FETCHED_AT,
    "updated_at": UrlSort.FETCHED_AT,
    "normalized_url": UrlSort.URL,
}
SORT_KEYS: dict[UrlSort, Callable[[UrlRow], Any]] = {
    UrlSort.ID: lambda row: row.id,
    UrlSort.FETCHED_AT: lambda row: (row.fetched_at or 0, row.id),
    UrlSort.URL: lambda row: row.url,
}


# --- polling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """A run as it was at a moment."""

    tick_ms: float
    crawl: Crawl
    tallies: Mapping[str, int]
    counters: dict[Word, int]

    def state(self) -> dict[str, Any]:
        return run_fields(self.crawl) | {"counters": self.counters, "total_urls": self.tallies.get("urls", 0)}

    def summary(self) -> dict[str, Any]:
        tallies = self.tallies
        return self.state() | {
            "terminal_urls": ended_of(tallies),
            "requests": tallies.get("requests", 0),
            "retries": tallies.get("retries", 0),
            "bytes": tallies.get("bytes", 0),
            "errors": dict(errors_of(tallies)),
            "limited_by": self.crawl.limited_by or None,
            "active_ms": self.crawl.active_ms,
        }


class Watch:
    """Recent looks at runs and the time of the last maintenance pass: one of each app, used by many threads.

    Two threads that come together may both ask the store: harmless, and cheaper than a lock over a slow store.
    """

    def __init__(self) -> None:
        self._looks: dict[int, Look] = {}
        self._pass_tick = float("-inf")

    def look(self, catalog: Catalog, run: int, now: float) -> Look:
        known = self._looks.get(run)
        if known is not None and now < known.tick_ms + RECENT_MS:
            return known
        crawl, tallies = run_of(catalog, run), catalog.tallies(run)
        if len(self._looks) >= RECENT_RUNS_MAX:
            self._looks.clear()
        found = self._looks[run] = Look(now, crawl, tallies, counts_of(catalog, crawl, tallies))
        return found

    def forget(self, run: int) -> None:
        self._looks.pop(run, None)

    def pass_due(self, now: float) -> bool:
        """At most one maintenance pass a second, whoever asks; it is exact, so more would not rush anything either."""
        due = now >= self._pass_tick + RECENT_MS
        if due:
            self._pass_tick = now
        return due


# --- errors ---------------------------------------------------------------------------------------------------------


def run_of(catalog: Catalog, run: int) -> Crawl:
    try:
        return catalog.crawl(run)
    except UsageError:
        raise crawls.Unknown("Run not found") from None


class RunRoute(APIRoute):
    """Whatever is wrong with a request, its answer has the document's error body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except (NephilaError, RequestValidationError, HTTPException) as error:
                return _refused(problem_of(error))

        return answer


def _refused(problem: Problem) -> JSONResponse:
    """The document knows 400 and 404 for what is wrong with a request."""
    status = 400 if problem.status == 422 else problem.status
    return JSONResponse({"error": plain(problem.message)}, status, problem.headers)


def guarded_run(needed: Access, *problems: int, model: Any = None) -> dict[str, Any]:
    """As `guarded`, with the document's error body; `model`: what an export is made of."""
    statuses = sorted({*problems, 400, 401, 403, 503})
    responses: dict[int | str, Any] = {
        status: {"model": RunError, "description": CODES[status]} for status in statuses
    } | {"4XX": {"model": RunError, "description": "any other fault of a request"}}
    return guarded(needed) | {"responses": responses | ({200: exported(model)} if model else {})}


# --- routes ---------------------------------------------------------------------------------------------------------

router = APIRouter(prefix="/crawl-runs", tags=["runs (000)"], route_class=RunRoute, dependencies=[Depends(known_query)])
RunId = Annotated[int, Path(ge=1, le=2**63 - 1, description="the run's id, which is the crawl's number")]


@router.post("", status_code=201, **guarded_run(Access.WRITE, 413, 429))
def start_run(new: NewRun, services: Shared, caller: Writer) -> Run:
    """Start a crawl of one seed; what `settings` leaves out comes from the environment of the control plane."""
    seed = crawls.seed_url(new.seed_url)
    private = may_go_private(services, caller)
    settings = settings_for(merged(new.settings, os.environ), seed, allow_private=private)
    return Run(**run_fields(create(services, caller, [seed], settings, "seedUrl")))


@router.get("", **guarded_run(Access.READ))
def list_runs(services: Shared, limit: Annotated[int, Query(ge=1, le=RUNS_SHOWN_MAX)] = RUNS_SHOWN) -> Runs:
    """The latest first."""
    with services.pool.use() as store:
        found = store.catalog.crawls()[: -limit - 1 : -1]
    return Runs(runs=[Run(**run_fields(crawl)) for crawl in found])


@router.get("/{id}", **guarded_run(Access.READ, 404))
def show_run(id: RunId, services: Shared, request: Request) -> RunState:
    """Status and counters; triggers one maintenance pass, at most one a second. It cannot rush the end of a run."""
    watch, now = watch_of(request), services.clock.tick_ms()
    with services.pool.use() as store:
        if watch.pass_due(now):
            store.upkeep.run_once()
        return RunState(**watch.look(store.catalog, id, now).state())


@router.get("/{id}/summary", **guarded_run(Access.READ, 404))
def summarize_run(id: RunId, services: Shared, request: Request) -> RunSummary:
    with services.pool.use() as store:
        return RunSummary(**watch_of(request).look(store.catalog, id, services.clock.tick_ms()).summary())


@router.get("/{id}/urls", **guarded_run(Access.READ, 404))
def list_run_urls(
    id: RunId,
    services: Shared,
    status: Annotated[Word | None, Query(description="only URLs of this status")] = None,
    limit: Annotated[int, Query(ge=1, le=URLS_SHOWN_MAX)] = URLS_SHOWN,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    sort: Literal["id", "visited_at", "updated_at", "normalized_url"] = "id",
    order: Literal["asc", "desc"] = "asc",
) -> RunUrls:
    listing = Listing(status, SORTS[sort], order == "desc", limit, offset)
    with services.pool.use() as store:
        crawl = run_of(store.catalog, id)
        rows, total = listed(store.catalog, crawl, listing)
    mode = crawl.settings.redirects.mode
    more = offset + len(rows) < total and len(rows) > 0
    pagination = Pagination(total=total, returned=len(rows), limit=limit, offset=offset, has_more=more)
    return RunUrls(urls=[RunUrl.model_validate(url_fields(row, mode)) for row in rows], pagination=pagination)


@router.get("/{id}/export", response_class=StreamingResponse, **guarded_run(Access.READ, 404, model=list[RunUrl]))
def export_run(
    id: RunId,
    services: Shared,
    format: Format = "json",
    limit: Annotated[int, Query(ge=1, le=EXPORT_ROWS_MAX)] = EXPORT_ROWS,
) -> StreamingResponse:
    with services.pool.use() as store:
        mode = run_of(store.catalog, id).settings.redirects.mode
    rows = islice(rows_of(lent_catalog(services.pool), id, UrlFilter()), limit)
    return streamed(rows, lambda row: url_fields(row, mode), RunUrl.model_fields, format, f"crawl-run-{id}")


@router.get("/{id}/graph", **guarded_run(Access.READ, 404))
def run_graph(
    id: RunId, services: Shared, limit: Annotated[int, Query(ge=1, le=EDGES_SHOWN_MAX)] = EDGES_SHOWN
) -> RunGraph:
    """Who was discovered on which page: discovered_from_url_id -> id."""
    with services.pool.use() as store:
        seeds = len(run_of(store.catalog, id).seeds)
    looked = limit + 1 + min(seeds, EDGES_SHOWN_MAX)  # only seeds have no edge
    rows = islice(rows_of(lent_catalog(services.pool), id, UrlFilter()), looked)
    found = list(islice((edge for row in rows if (edge := edge_of(row))), limit + 1))
    edges = found[:limit]
    return RunGraph(run_id=id, edges=edges, returned=len(edges), has_more=len(found) > limit)


@router.get("/{id}/graph-delta", **guarded_run(Access.READ, 404))
def run_graph_delta(
    id: RunId,
    services: Shared,
    after_version: Annotated[int, Query(ge=0, le=2**63 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=DELTA_SHOWN_MAX)] = DELTA_SHOWN,
) -> GraphDelta:
    """What was discovered since; a URL's later states are in /urls."""
    with services.pool.use() as store:
        mode = run_of(store.catalog, id).settings.redirects.mode
        found = list(islice(rows_of(store.catalog, id, UrlFilter(), after_version), limit + 1))
    rows = found[:limit]
    return GraphDelta(
        version=rows[-1].id if rows else after_version,
        nodes=[node_of(row, mode) for row in rows],
        edges=[edge for row in rows if (edge := edge_of(row))],
        has_more=len(found) > limit,
    )


@router.post("/{id}/cancel", **guarded_run(Access.WRITE, 404))
def cancel_run(id: RunId, services: Shared, request: Request) -> Cancelled:
    """Answers when no request of it starts any more; a run that is over stays as it is."""
    with services.pool.use() as store:
        catalog = store.catalog
        crawl = run_of(catalog, id)
        changed = crawl.state in (CrawlState.RUNNING, CrawlState.PAUSED)  # what is ending goes on to its end
        if changed:
            crawls.cancel(catalog, id)
            watch_of(request).forget(id)
        tallies = catalog.tallies(id)
        cancelled = tallies.get(UrlState.CANCELLED, 0)
        status = run_status(catalog.crawl(id))
    still_open = tallies.get("queued", 0) + tallies.get("in_progress", 0) if status is RunStatus.CANCELLED else 0
    return Cancelled(status=status, changed=changed, cancelled_url_count=cancelled + still_open)


def watch_of(request: Request) -> Watch:
    state = request.app.state
    if not hasattr(state, "run_watch"):
        state.run_watch = Watch()
    found: Watch = state.run_watch
    return found


@dataclass(frozen=True, slots=True)
class Listing:
    status: Word | None
    sort: UrlSort
    descending: bool
    limit: int
    offset: int


def listed(catalog: Catalog, crawl: Crawl, asked: Listing) -> tuple[list[UrlRow], int]:
    """A page of rows, and how many there are in all."""
    where = FILTERS.get(asked.status)
    if where is None:
        return _picked(catalog, crawl, asked)
    rows = catalog.sorted_urls(
        crawl.id, where, asked.sort, descending=asked.descending, limit=asked.limit, offset=asked.offset
    )
    return rows, catalog.count_urls(crawl.id, where)


def _picked(catalog: Catalog, crawl: Crawl, asked: Listing) -> tuple[list[UrlRow], int]:
    """For words that divide our `redirected`: picked among the first PICKED_ROWS_MAX redirects and HTTP errors."""
    where = UrlFilter(states=(UrlState.REDIRECTED, UrlState.HTTP_ERROR))
    looked = islice(rows_of(catalog, crawl.id, where), PICKED_ROWS_MAX)
    rows = [row for row in looked if word_of(row, crawl.settings.redirects.mode) is asked.status]
    rows.sort(key=SORT_KEYS[asked.sort], reverse=asked.descending)
    return rows[asked.offset : asked.offset + asked.limit], len(rows)
