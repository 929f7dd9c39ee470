"""What the routes share: settings, clock, a pool of stores, the live hub, the local workers."""

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Protocol, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from nephila.clock import Clock
from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.operators import Rulebook
from nephila.frontier.store import Catalog, Upkeep, UrlFilter, UrlPage
from nephila.search.index import SearchIndex
from nephila.settings import ProcessSettings

if TYPE_CHECKING:
    from nephila.api.access import Gate, Quota
    from nephila.api.live import Hub
    from nephila.api.tickets import Tickets

POOL_SIZE = 8  # of stores, each a connection
WAIT_SECONDS = 10.0  # for a free one; then 503: more waiting would only pile up


class Store(Protocol):
    """wiring.Store: used by one thread at a time."""

    @property
    def catalog(self) -> Catalog: ...
    @property
    def upkeep(self) -> Upkeep: ...
    @property
    def rulebook(self) -> Rulebook: ...
    @property
    def index(self) -> SearchIndex: ...


class LocalWorkers(Protocol):
    """The worker processes below this one. Any thread may ask."""

    def resize(self, count: int) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def pids(self) -> list[int]: ...
    @property
    def waiting(self) -> str:
        """Why nothing can be stored now; empty where all is well."""


class StorePool:
    """Stores are opened when they are first needed, up to `size`, and lent out, the last used first."""

    def __init__(self, open: Callable[[], Store], size: int = POOL_SIZE) -> None:
        self._open = open
        self._free: queue.LifoQueue[Store | None] = queue.LifoQueue()  # None: may be opened
        for _ in range(size):
            self._free.put(None)

    @contextmanager
    def use(self) -> Iterator[Store]:
        store = self._take()
        try:
            store = store or self._opened()
            yield store
        finally:
            self._free.put(store)

    def _take(self) -> Store | None:
        try:
            return self._free.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise StoreUnavailable("too many requests at once: try again in a moment") from None

    def _opened(self) -> Store:
        """A store that was fine when the server started and cannot be opened now is away, whatever it says."""
        try:
            return self._open()
        except UsageError as error:
            raise StoreUnavailable(str(error)) from None


class LentCatalog:
    """The part of Catalog that a stream needs, lent for one page at a time: a slow reader holds no store."""

    def __init__(self, pool: StorePool) -> None:
        self._pool = pool

    def urls_page(self, crawl_id: int, after: int, limit: int, where: UrlFilter) -> UrlPage:
        with self._pool.use() as store:
            return store.catalog.urls_page(crawl_id, after, limit, where)


def lent_catalog(pool: StorePool) -> Catalog:
    return cast(Catalog, LentCatalog(pool))


@dataclass(slots=True)
class Services:
    settings: ProcessSettings
    clock: Clock
    pool: StorePool
    hub: "Hub"
    gate: "Gate"
    quota: "Quota"
    tickets: "Tickets"
    crew: LocalWorkers | None = None
    started_at: int = field(default=0)


def services_of(connection: HTTPConnection) -> Services:
    return cast(Services, connection.app.state.services)


async def shared_services(connection: HTTPConnection) -> Services:
    """Async: what does not wait needs no change of threads."""
    return services_of(connection)


Shared = Annotated[Services, Depends(shared_services)]
