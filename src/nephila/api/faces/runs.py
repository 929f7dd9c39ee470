"""The API of document 000 (/crawl-runs ...): its paths, limits and error body over our own crawls.

A run is a crawl and its id is the crawl's number. Crawls that were made elsewhere are shown in the same words.
"""

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from nephila import log
from nephila.api.access import Writer, guarded
from nephila.api.faces import FormatWord, exported, may_go_private, private_way, streamed
from nephila.api.faces.run_records import (
    Cancelled,
    GraphDelta,
    NewRun,
    Pagination,
    RunError,
    RunGraph,
    Runs,
    RunState,
    RunStatus,
    RunSummary,
    RunUrl,
    RunUrls,
    RunView,
    Word,
    counts_of,
    edge_of,
    filter_of,
    merged,
    node_of,
    run_fields,
    run_status,
    settings_for,
    url_fields,
)
from nephila.api.problems import Problem, declared, plain, problem_of
from nephila.api.recent import RecentAnswers
from nephila.api.routers import strict_router
from nephila.api.routes.export import Accepted
from nephila.api.routes.new_crawls import start_crawl
from nephila.api.services import Shared, StorePool, lent_catalog
from nephila.clock import Clock
from nephila.control import crawls
from nephila.control.export import rows_of
from nephila.control.graph import changed_pages
from nephila.control.progress import ended_of, errors_of
from nephila.errors import NephilaError, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import UrlFilter, UrlRow, UrlSort
from nephila.frontier.store import Crawl
from nephila.frontier.tokens import Access
from nephila.models import OPEN, CrawlState, Tally, UrlState

RUNS_SHOWN, RUNS_SHOWN_MAX = 20, 100
URLS_SHOWN, URLS_SHOWN_MAX = 200, 50_000
EXPORT_ROWS, EXPORT_ROWS_MAX = 50_000, 10_000_000
EDGES_SHOWN, EDGES_SHOWN_MAX = 50_000, 100_000
DELTA_SHOWN, DELTA_SHOWN_MAX = 1000, 10_000
TOTAL_HEADER, TRUNCATED_HEADER = "X-Total-Count", "X-Truncated"
RECENT_MS = 1000.0  # between two looks at a run, however many clients poll it
RECENT_RUNS_MAX = 1000
SORTS = {
    "id": UrlSort.ID,
    "visited_at": UrlSort.FETCHED_AT,
    "updated_at": UrlSort.UPDATED_AT,
    "normalized_url": UrlSort.URL,
}


# --- polling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """A run as it was at a moment."""

    crawl: Crawl
    tallies: Mapping[str, int]
    counters: dict[Word, int]

    def state(self) -> dict[str, Any]:
        return run_fields(self.crawl) | {"counters": self.counters, "total_urls": self.tallies.get(Tally.URLS, 0)}

    def summary(self) -> dict[str, Any]:
        tallies = self.tallies
        return self.state() | {
            "terminal_urls": ended_of(tallies),
            **{name: tallies.get(name, 0) for name in ("requests", "retries", "bytes")},
            "errors": dict(errors_of(tallies)),
            "limited_by": self.crawl.limited_by or None,
            "active_ms": self.crawl.active_ms,
        }


class RunWatch:
    """What clients that poll share: recent looks at runs and one maintenance pass a second. Any thread may ask."""

    def __init__(self, pool: StorePool, clock: Clock) -> None:
        self._pool = pool
        self._looks: RecentAnswers[int, Look] = RecentAnswers(clock, RECENT_MS, RECENT_RUNS_MAX)
        self._passes: RecentAnswers[None, None] = RecentAnswers(clock, RECENT_MS)

    def look(self, run: int) -> Look:
        return self._looks.get(run, partial(self._look, run))

    def _look(self, run: int) -> Look:
        with self._pool.use() as store:
            crawl, tallies = run_of(store.catalog, run), store.catalog.tallies(run)
            return Look(crawl, tallies, counts_of(store.catalog, crawl, tallies))

    def forget(self, run: int) -> None:
        self._looks.forget(run)

    def maintain(self) -> None:
        """At most one pass a second, however many ask; a pass is exact, so more would not rush anything."""
        self._passes.get_at_once(None, self._pass, None)

    def _pass(self) -> None:
        with self._pool.use() as store:
            store.upkeep.run_once()


# --- errors ---------------------------------------------------------------------------------------------------------


def run_of(catalog: Catalog, run: int) -> Crawl:
    try:
        return catalog.crawl(run)
    except UsageError:
        raise crawls.Unknown("Run not found") from None


class RunRoute(APIRoute):
    """Answers every error with the document's error body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except (NephilaError, RequestValidationError, HTTPException) as error:
                return _refused(problem_of(error))

        return answer


def _refused(problem: Problem) -> JSONResponse:
    """The document answers 400 where the rest of the API answers 422."""
    status = 400 if problem.status == 422 else problem.status
    return JSONResponse({"error": plain(problem.message)}, status, problem.headers)


def guarded_run(needed: Access, *problems: int, model: Any = None) -> dict[str, Any]:
    """As `guarded`, with the document's error body; `model`: the record of an export."""
    responses = declared(400, 401, 403, *problems, model=RunError)
    responses["4XX"] = {"model": RunError, "description": "any other fault of a request"}
    return guarded(needed) | {"responses": responses | ({200: exported(model)} if model else {})}


# --- routes ---------------------------------------------------------------------------------------------------------

router = strict_router("/crawl-runs", "runs (000)", route_class=RunRoute)
RunId = Annotated[int, Path(ge=1, le=2**63 - 1, description="the run's id, which is the crawl's number")]


@router.post("", status_code=201, **guarded_run(Access.WRITE, 413, 429))
def start_run(new: NewRun, services: Shared, caller: Writer) -> RunView:
    """Start a run.

    A crawl of one seed. What `settings` leaves out comes from the environment of the control plane.
    """
    seed = crawls.seed_url(new.seed_url)
    private = may_go_private(services, caller)
    wanted = merged(new.settings, os.environ)
    settings = settings_for(wanted, seed, allow_private=private, own_hosts=services.settings.own_hosts)
    way = private_way(services)
    crawl = start_crawl(services, caller, [new.seed_url], settings, field="seedUrl", private_way=way)
    return RunView(**run_fields(crawl))


@router.get("", **guarded_run(Access.READ))
def list_runs(
    services: Shared,
    limit: Annotated[int, Query(ge=1, le=RUNS_SHOWN_MAX, description="the most that is answered")] = RUNS_SHOWN,
) -> Runs:
    """List the runs, the latest first.

    Every crawl is a run, whichever API has started it.
    """
    with services.pool.use() as store:
        found = store.catalog.crawls(limit=limit)
    return Runs(runs=[RunView(**run_fields(crawl)) for crawl in found])


@router.get("/{id}", **guarded_run(Access.READ, 404))
def show_run(id: RunId, services: Shared) -> RunState:
    """Show the status and counters of a run.

    It triggers one maintenance pass, at most one a second. It cannot rush the end of a run.
    """
    services.runs.maintain()
    return RunState(**services.runs.look(id).state())


@router.get("/{id}/summary", **guarded_run(Access.READ, 404))
def summarize_run(id: RunId, services: Shared) -> RunSummary:
    """Summarize a run.

    Its status and counters, requests, retries, bytes and errors.
    """
    return RunSummary(**services.runs.look(id).summary())


@router.get("/{id}/urls", **guarded_run(Access.READ, 404))
def list_run_urls(
    id: RunId,
    services: Shared,
    status: Annotated[Word | None, Query(description="only URLs of this status")] = None,
    limit: Annotated[int, Query(ge=1, le=URLS_SHOWN_MAX, description="the most that a page has")] = URLS_SHOWN,
    offset: Annotated[int, Query(ge=0, le=10**9, description="URLs to skip")] = 0,
    sort: Annotated[
        Literal["id", "visited_at", "updated_at", "normalized_url"], Query(description="by what to sort")
    ] = "id",
    order: Annotated[Literal["asc", "desc"], Query(description="`desc`: the last first")] = "asc",
) -> RunUrls:
    """List the URLs of a run.

    In numbered pages, in the order that `sort` names. A very large run is listed by id only.
    """
    listing = RunListing(status, SORTS[sort], order == "desc", limit, offset)
    with services.pool.use() as store:
        crawl = run_of(store.catalog, id)
        rows, total = listed(store.catalog, crawl, listing)
    mode = crawl.settings.redirects.mode
    more = offset + len(rows) < total and len(rows) > 0
    pagination = Pagination(total=total, returned=len(rows), limit=limit, offset=offset, has_more=more)
    return RunUrls(urls=[RunUrl.model_validate(url_fields(row, mode)) for row in rows], pagination=pagination)


@router.get("/{id}/export", response_class=StreamingResponse, **guarded_run(Access.READ, 404, model=RunUrl))
def export_run(
    id: RunId,
    services: Shared,
    format: FormatWord = "json",
    limit: Annotated[int, Query(ge=1, le=EXPORT_ROWS_MAX, description="rows, at most")] = EXPORT_ROWS,
    accepted: Accepted = "",
) -> StreamingResponse:
    """Export the URLs of a run.

    By id, up to `limit`, as a stream. An export that is cut there says so: `X-Truncated: true`, with the number of URLs
    in `X-Total-Count`, and a line `export_truncated` in the log of the control plane at its end. It is compressed for
    whoever sends `Accept-Encoding: gzip`.
    """
    with services.pool.use() as store:
        mode = run_of(store.catalog, id).settings.redirects.mode
        total, cut = store.catalog.tallies(id).get(Tally.URLS, 0), store.catalog.has_more_than(id, limit)
    rows: Iterable[UrlRow] = islice(rows_of(lent_catalog(services.pool), id, UrlFilter()), limit)
    if cut:
        rows = chain(rows, _said_cut(id, limit, total))
    name = f"crawl-run-{id}"
    answer = streamed(rows, lambda row: url_fields(row, mode), RunUrl.model_fields, format, name, accepted)
    answer.headers.update({TOTAL_HEADER: str(total), TRUNCATED_HEADER: str(cut).lower()})
    return answer


def _said_cut(run: int, limit: int, total: int) -> Iterator[UrlRow]:
    """No rows, but a line in the log, when all before it are read."""
    log.component_log("control-plane", crawl=run).warning("export_truncated", rows=limit, urls=total)
    yield from ()


@router.get("/{id}/graph", **guarded_run(Access.READ, 404))
def run_graph(
    id: RunId,
    services: Shared,
    limit: Annotated[int, Query(ge=1, le=EDGES_SHOWN_MAX, description="edges, at most")] = EDGES_SHOWN,
) -> RunGraph:
    """Show which URL was found on which page of a run.

    Edges discovered_from_url_id -> id, in the order of the ids.
    """
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
    after_version: Annotated[
        int, Query(ge=0, le=2**63 - 1, description="what `version` of the answer before says; 0: from the beginning")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=DELTA_SHOWN_MAX, description="nodes, at most")] = DELTA_SHOWN,
) -> GraphDelta:
    """Follow the graph of a run.

    What was found or has changed its state since `after_version`. A URL that changed comes again, with its edge.
    """
    with services.pool.use() as store:
        mode = run_of(store.catalog, id).settings.redirects.mode
        changed = changed_pages(store.catalog, id, after_version, limit)
    return GraphDelta(
        version=changed.next,
        nodes=[node_of(row, mode) for row in changed.rows],
        edges=[edge for row in changed.rows if (edge := edge_of(row))],
        has_more=changed.more,
    )


@router.post("/{id}/cancel", **guarded_run(Access.WRITE, 404))
def cancel_run(id: RunId, services: Shared) -> Cancelled:
    """Cancel a run.

    It answers when no request of the run starts any more. A run that is over stays as it is.
    """
    with services.pool.use() as store:
        catalog = store.catalog
        crawl = run_of(catalog, id)
        changed = crawl.state in (CrawlState.RUNNING, CrawlState.PAUSED)  # a crawl that is ending is left alone
        if changed:
            crawls.cancel(catalog, id)
            services.runs.forget(id)
        tallies = catalog.tallies(id)
        cancelled = tallies.get(UrlState.CANCELLED, 0)
        status = run_status(catalog.crawl(id))
    still_open = sum(tallies.get(state, 0) for state in OPEN) if status is RunStatus.CANCELLED else 0
    return Cancelled(status=status, changed=changed, cancelled_url_count=cancelled + still_open)


@dataclass(frozen=True, slots=True)
class RunListing:
    status: Word | None
    sort: UrlSort
    descending: bool
    limit: int
    offset: int


def listed(catalog: Catalog, crawl: Crawl, asked: RunListing) -> tuple[list[UrlRow], int]:
    """A page of rows, and how many there are in all. UsageError where a run is too large for it."""
    where = filter_of(asked.status, crawl.settings.redirects.mode)
    if where is None:
        return [], 0
    rows = catalog.sorted_urls(
        crawl.id, where, asked.sort, descending=asked.descending, limit=asked.limit, offset=asked.offset
    )
    return rows, catalog.count_urls(crawl.id, where)
