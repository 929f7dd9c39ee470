"""The real application under a real server on loopback, on either store, with a crawl that a worker left half done."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from nephila import wiring
from nephila.api import serving
from nephila.api.app import create_app, make_services
from nephila.api.services import Services
from nephila.clock import SystemClock
from nephila.control.access import make_token
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Batch, Crawl, ErrorNote, WorkerInfo
from nephila.frontier.tokens import Access
from nephila.models import Reason, UrlState
from nephila.profiles import crawl_settings
from nephila.settings import ProcessSettings, process_settings
from tests import postgres
from tests.patience import PATIENCE_SECONDS
from tests.unit.control.filled import SEED, _open_rows, _second, child, ended

KINDS = ("sqlite", "postgres")
NO_UI = Path("/nonexistent")  # whether one is built here must not matter
V1 = "/api/v1"
WORDS_001 = (  # of document 001, in every message about a crawl
    "crawl_id",
    "status",
    "total",
    "completed",
    "pending",
    "in_progress",
    "failed",
    "root_url",
    "requested_depth",
)


@dataclass(slots=True)
class Workers:
    """Local workers that are only counted."""

    size: int = 1
    pids: list[int] = field(default_factory=list)
    waiting: str = ""
    trouble: str = ""
    troubles: dict[str, str] = field(default_factory=dict)

    def resize(self, count: int) -> None:
        self.size = count


@dataclass(slots=True)
class Served:
    settings: ProcessSettings
    services: Services
    url: str
    store: wiring.Store  # the test's own
    crawl: Crawl

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS)

    def token(self, name: str, access: Access) -> str:
        secret = make_token(self.store.tokens, name, access)[1]
        self.services.gate.forget()
        return secret

    def ids(self) -> dict[str, int]:
        """The URLs of the crawl by the end of their path."""
        rows = self.store.catalog.urls(self.crawl.id, 0, 100, UrlFilter())
        return {row.url.removeprefix(SEED): row.id for row in rows}


def filled_crawl(settings: ProcessSettings, store: wiring.Store) -> Crawl:
    """As tests/unit/control/filled.py has it, through the protocols alone."""
    catalog: Any = store.catalog
    crawl = catalog.create_crawl([SEED], crawl_settings(), "mark")
    catalog.add_seeds(crawl.id, [child(crawl.id, SEED, None, 0)])
    catalog.seeded(crawl.id)
    frontier = wiring.open_frontier(settings)
    writer = store.archive.writer("0" * 16)
    frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    (window,) = frontier.flush(Batch(1, new_queues=10, window=10)).windows
    (seed,) = window.rows
    children = [child(crawl.id, SEED + name, seed.id, 1) for name in ("x", "gone", "moved", "formula", "later")]
    first = ended(writer, crawl.id, seed, UrlState.VISITED, 200, children)
    frontier.flush(Batch(2, outcomes=[first], archive_files=list(writer.files.items())))
    writer.committed()
    batch = _second(writer, crawl.id, _open_rows(catalog, crawl.id), window.queue)
    batch.errors = [ErrorNote(crawl.id, seed.id, Reason.TIMEOUT, "no answer in 20 s", 1)]
    frontier.flush(batch)
    writer.close()
    frontier.leave()
    return store.catalog.crawl(crawl.id)


@contextmanager
def store_settings(kind: str, folder: Path, **options: Any) -> Iterator[ProcessSettings]:
    with ExitStack() as stack:
        url = stack.enter_context(postgres.database()) if kind == "postgres" else None
        yield process_settings({"data": folder / "data", "store": url} | options)


@contextmanager
def running(services: Services, ui_folder: Path = NO_UI) -> Iterator[str]:
    """Its address."""
    listening = serving.listen("127.0.0.1", 0)
    server = uvicorn.Server(serving.configured(create_app(services, ui_folder)))
    started = threading.Event()
    startup = server.startup

    async def noted(sockets: Any = None) -> None:
        await startup(sockets)
        started.set()

    server.startup = noted  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    try:
        yield serving.address_of(listening)
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@contextmanager
def served(
    kind: str,
    folder: Path,
    opener: Callable[[ProcessSettings], Callable[[], wiring.Store]] | None = None,
    ui_folder: Path = NO_UI,
    **options: Any,
) -> Iterator[Served]:
    with store_settings(kind, folder, **options) as settings:
        store = wiring.open_store(settings, create=True)
        crawl = filled_crawl(settings, store)
        open_store = opener(settings) if opener else lambda: wiring.open_store(settings)
        services = make_services(settings, SystemClock(), open_store, Workers())
        with running(services, ui_folder) as url:
            yield Served(settings, services, url, store, crawl)
