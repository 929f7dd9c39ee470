"""The application: routes, error shape, limits. Everything that it needs comes in as Services."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from nephila import __version__
from nephila.api import bot, live, problems, reference, ui
from nephila.api.access import Gate
from nephila.api.examples import add_examples
from nephila.api.faces import jobs, runs
from nephila.api.limits import BodyLimit, HeadersOnly, SafeHeaders
from nephila.api.polling import PollingCache
from nephila.api.problems import CODES_AND_HINTS
from nephila.api.routers import operation_id
from nephila.api.routes import (
    admin,
    blocks,
    comparison,
    crawls,
    delays,
    export,
    graph,
    health,
    hosts,
    links,
    new_crawls,
    pages,
    refused,
    robots,
    search,
    sitemaps,
    statistics,
    tokens,
    urls,
    workers,
)
from nephila.api.services import LocalWorkers, OpenStore, Services, StorePool
from nephila.api.tickets import Tickets
from nephila.clock import Clock, SystemClock
from nephila.metrics import Meter, Place
from nephila.settings import ProcessSettings, process_settings

JSON = "application/json"
NOUNS = (
    new_crawls,
    delays,
    crawls,
    urls,
    links,
    refused,
    sitemaps,
    pages,
    search,
    graph,
    statistics,
    export,
    comparison,
    hosts,
    robots,
    blocks,
    workers,
    admin,
    tokens,
)
ROUTERS = (
    *(noun.router for noun in NOUNS),
    live.router,
    health.router,
    runs.router,
    jobs.router,
    jobs.admin_router,
)
DESCRIPTION = "A web crawler that never forgets a URL, never hurries a host, and can always say why."


def make_services(
    settings: ProcessSettings,
    clock: Clock,
    open_store: Callable[[], OpenStore],
    crew: LocalWorkers | None = None,
    *,
    live_ms: float = live.LIVE_MS,
) -> Services:
    pool, meter, started_at = StorePool(open_store), Meter(Place.CONTROL), clock.now_ms()
    return Services(
        settings=settings,
        clock=clock,
        started_at=started_at,
        pool=pool,
        hub=live.Hub(pool, clock, meter, every_ms=live_ms),
        gate=Gate(pool, clock),
        tickets=Tickets(clock),
        readiness=health.Readiness(pool, clock),
        gauges=health.Gauges(pool, clock, meter, started_at),
        runs=runs.RunWatch(pool, clock),
        crew=crew,
    )


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    services: Services = app.state.services
    if not services.hub.stopping:  # a server that drains has stopped it before
        await services.hub.stop()


def create_app(services: Services, ui_folder: Path = ui.FOLDER) -> FastAPI:
    app = FastAPI(
        title="Nephila",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
        docs_url=None,  # it would load scripts from elsewhere: reference.py has ours
        redoc_url=None,
        redirect_slashes=False,  # one spelling of each path
    )
    app.state.services = services
    problems.install(app)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    bot.install(app, services.settings)
    ui.install(app, ui_folder)
    app.add_middleware(HeadersOnly)
    app.add_middleware(PollingCache, clock=services.clock)
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
    reference.install(app)
    return app


def described() -> dict[str, Any]:
    """The OpenAPI document. Nothing is read for it, so it needs no store."""

    def no_store() -> OpenStore:
        raise AssertionError("a description asks no store")

    return create_app(make_services(process_settings({}), SystemClock(), no_store)).openapi()


def exact_openapi(describe: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """Makes the document once, with what FastAPI does not say: summaries, examples, and that all errors are JSON."""

    @cache
    def described() -> dict[str, Any]:
        found = deepcopy(describe())  # that of FastAPI stays as it is: two threads may be here
        for path in found["paths"].values():
            for operation in path.values():
                tell_summary(operation)
                tell_errors(operation)
        add_examples(found)
        return found

    return described


def tell_summary(operation: dict[str, Any]) -> None:
    """Parts the docstring of a route: its first paragraph is the summary, the others are the description."""
    summary, _, description = operation.get("description", "").partition("\n\n")
    operation["summary"] = " ".join(summary.split()).removesuffix(".")
    operation["description"] = description.strip()


def tell_errors(operation: dict[str, Any]) -> None:
    """What reads a body refuses what is no JSON; FastAPI says that the errors of a route that streams are streams."""
    if "requestBody" in operation and "422" in operation["responses"]:
        unmarked = operation["responses"]["422"] | {"description": CODES_AND_HINTS[415][0]}
        operation["responses"] = dict(sorted((operation["responses"] | {"415": unmarked}).items()))
    for status, answer in operation["responses"].items():
        if status[0] in "45" and "content" in answer and JSON not in answer["content"]:
            answer["content"] = {JSON: answer["content"].popitem()[1]}
