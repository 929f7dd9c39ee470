"""`Services`: everything that routes share, in one object; and the pool that lends them stores."""

import queue
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

from fastapi import Depends
from starlette.requests import HTTPConnection

from nephila.archive.archive import Archive
from nephila.clock import Clock
from nephila.derived.ledger import Ledger
from nephila.errors import StoreUnavailable, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.listings import UrlPages
from nephila.frontier.records import UrlFilter, UrlPage
from nephila.frontier.rulebook import Rulebook
from nephila.frontier.tokens import Tokens
from nephila.frontier.upkeep import Upkeep
from nephila.links.index import LinkIndex
from nephila.search.index import SearchIndex
from nephila.settings import ProcessSettings

if TYPE_CHECKING:
    from nephila.api.access import Gate
    from nephila.api.faces.runs import RunWatch
    from nephila.api.live import Hub
    from nephila.api.routes.health import Gauges, Readiness
    from nephila.api.tickets import Tickets

POOL_SIZE = 8  # stores, each a connection
WAIT_SECONDS = 10.0  # for a free store; then 503, so that requests do not pile up


class OpenStore(Protocol):
    """The part of wiring.Store that routes use, one thread at a time."""

    @property
    def catalog(self) -> Catalog: ...
    @property
    def upkeep(self) -> Upkeep: ...
    @property
    def rulebook(self) -> Rulebook: ...
    @property
    def tokens(self) -> Tokens: ...
    @property
    def index(self) -> SearchIndex: ...
    @property
    def links(self) -> LinkIndex: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def archive(self) -> Archive: ...


class LocalWorkers(Protocol):
    """The worker processes below this one. Any thread may ask."""

    def resize(self, count: int) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def waiting(self) -> str:
        """Why nothing can be stored now; empty where all is well."""

    @property
    def trouble(self) -> str:
        """Why dead workers are not replaced and crawls do not end now; empty where all is well."""

    @property
    def troubles(self) -> Mapping[str, str]:
        """The processes that died a moment ago or have a part that broke, and why."""


class StorePool:
    """Lends up to `size` stores, the last used first; each is opened when it is first needed."""

    def __init__(self, open: Callable[[], OpenStore], size: int = POOL_SIZE) -> None:
        self._open = open
        self._free: queue.LifoQueue[OpenStore | None] = queue.LifoQueue()  # None: may be opened
        for _ in range(size):
            self._free.put(None)

    @contextmanager
    def use(self) -> Iterator[OpenStore]:
        store = self._take()
        try:
            store = store or self._opened()
            yield store
        finally:
            self._free.put(store)

    def _take(self) -> OpenStore | None:
        try:
            return self._free.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise StoreUnavailable("too many requests at once: try again in a moment") from None

    def _opened(self) -> OpenStore:
        """Any fault is StoreUnavailable: the store could be opened when the server started."""
        try:
            return self._open()
        except UsageError as error:
            raise StoreUnavailable(str(error)) from None


class LentCatalog:
    """Pages of URLs from a store that is lent for one page at a time: a slow reader of a stream holds none."""

    def __init__(self, pool: StorePool) -> None:
        self._pool = pool

    def urls_page(
        self, crawl_id: int, after: int, limit: int, where: UrlFilter, *, descending: bool = False
    ) -> UrlPage:
        with self._pool.use() as store:
            return store.catalog.urls_page(crawl_id, after, limit, where, descending=descending)


def lent_catalog(pool: StorePool) -> UrlPages:
    return LentCatalog(pool)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that lives as long as the application; app.make_services builds it."""

    settings: ProcessSettings
    clock: Clock
    started_at: int
    pool: StorePool
    hub: "Hub"
    gate: "Gate"
    tickets: "Tickets"
    readiness: "Readiness"
    gauges: "Gauges"
    runs: "RunWatch"
    crew: LocalWorkers | None


def services_of(connection: HTTPConnection) -> Services:
    found: Services = connection.app.state.services
    return found


async def shared_services(connection: HTTPConnection) -> Services:
    """Async, since it does not wait: a plain function would run in a thread."""
    return services_of(connection)


Shared = Annotated[Services, Depends(shared_services)]
