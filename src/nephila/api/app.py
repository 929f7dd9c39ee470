"""The application: routes, error shape, limits. Everything it needs comes in as Services."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.routing import APIRoute

from nephila import __version__
from nephila.api import live, problems, ui
from nephila.api.access import Gate, Quota
from nephila.api.faces import jobs, runs
from nephila.api.limits import BodyLimit, SafeHeaders
from nephila.api.moments import Moments
from nephila.api.query import known_query
from nephila.api.routes import (
    admin,
    blocks,
    crawls,
    export,
    graph,
    health,
    hosts,
    pages,
    search,
    statistics,
    tokens,
    urls,
    workers,
)
from nephila.api.services import LocalWorkers, Services, Store, StorePool
from nephila.api.tickets import Tickets
from nephila.clock import Clock, SystemClock
from nephila.settings import ProcessSettings, process_settings

PREFIX = "/api/v1"
JSON = "application/json"
NOUNS = (crawls, urls, pages, search, graph, statistics, export, hosts, blocks, workers, admin, tokens)
DESCRIPTION = "A web crawler that never forgets a URL, never hurries a host, and can always say why."


def make_services(
    settings: ProcessSettings, clock: Clock, open_store: Callable[[], Store], crew: LocalWorkers | None = None
) -> Services:
    pool = StorePool(open_store)
    return Services(
        settings=settings,
        clock=clock,
        pool=pool,
        hub=live.Hub(pool, clock),
        gate=Gate(pool, clock),
        quota=Quota(settings.token_crawls_max),
        tickets=Tickets(clock),
        crew=crew,
        started_at=clock.now_ms(),
    )


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    services.hub.start()
    yield
    if not services.hub.stopping:  # a server that drains has stopped it before
        await services.hub.stop()


def create_app(services: Services, ui_folder: Path = ui.FOLDER) -> FastAPI:
    app = FastAPI(
        title="Nephila",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # one spelling of each path
    )
    app.state.services = services
    problems.install(app)
    v1 = APIRouter(prefix=PREFIX, dependencies=[Depends(known_query)])
    for noun in NOUNS:
        v1.include_router(noun.router)
    for router in (v1, live.router, health.router, runs.router, jobs.router):
        app.include_router(router)
    ui.install(app, ui_folder)
    app.add_middleware(Moments, clock=services.clock)
    app.add_middleware(BodyLimit)
    if services.settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=services.settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
        )
    app.add_middleware(SafeHeaders)
    app.openapi = exact_openapi(app.openapi)  # type: ignore[method-assign]
    return app


def described() -> dict[str, Any]:
    """Without a store: a description asks none."""

    def no_store() -> Store:
        raise AssertionError("a description asks no store")

    return create_app(make_services(process_settings({}), SystemClock(), no_store)).openapi()


def exact_openapi(describe: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """FastAPI describes the errors of a route that streams as streams; ours are always JSON."""

    def described() -> dict[str, Any]:
        found = describe()
        operations = (operation for path in found["paths"].values() for operation in path.values())
        answers = (pair for operation in operations for pair in operation["responses"].items())
        for status, answer in answers:
            if status[0] in "45" and "content" in answer and JSON not in answer["content"]:
                answer["content"] = {JSON: answer["content"].popitem()[1]}
        return found

    return described


def operation_id(route: APIRoute) -> str:
    return route.name
