"""The application behind a real uvicorn, in a thread of its own, on an empty store; how often it tells is chosen."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from nephila import wiring
from nephila.api.app import create_app, make_services
from nephila.api.live import Hub
from nephila.api.serving import configured
from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.frontier.store import Batch, Crawl, Outcome, Release, WorkerInfo
from nephila.models import CrawlState, PageRecord, UrlState
from nephila.profiles import crawl_settings
from nephila.settings import ProcessSettings
from tests.patience import PATIENCE_SECONDS

SEED = "http://a.test/"


class Server(uvicorn.Server):
    """As `serve` has it: watchers are told goodbye before the server waits for its connections."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self.hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.hub.stop()
        await super().shutdown(sockets)


class LiveServer:
    def __init__(self, settings: ProcessSettings, *, every_ms: float) -> None:
        self.settings = settings
        self.clock = SystemClock()
        self.store = wiring.open_store(settings, create=True)  # the test's own
        self.services = make_services(settings, self.clock, lambda: wiring.open_store(settings), live_ms=every_ms)
        self.hub = self.services.hub
        self.app = create_app(self.services)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._server = Server(configured(self.app), self.hub)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ws(self, crawl: object) -> str:
        return f"ws://127.0.0.1:{self.port}/api/v1/crawls/{crawl}/ws"

    def events(self, crawl: object) -> str:
        return f"{self.url}/api/v1/crawls/{crawl}/events"

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=headers, timeout=PATIENCE_SECONDS)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()

    # --- what happens to crawls meanwhile

    def crawl(self, *seeds: str) -> Crawl:
        return crawls.create(self.store.catalog, seeds or (SEED,), crawl_settings())

    def visit_all(self) -> None:
        """As a worker would: every open URL ends visited."""
        frontier = wiring.open_frontier(self.settings)
        frontier.join(WorkerInfo("here", 1, "0"))
        frontier.lease({})
        windows = frontier.flush(Batch(1, new_queues=100, window=100)).windows
        ended = [
            Outcome(row.id, window.crawl, UrlState.VISITED, "", 1, PageRecord(status=200))
            for window in windows
            for row in window.rows
        ]
        released = [Release(window.queue, 0, len(window.rows)) for window in windows]
        frontier.flush(Batch(2, outcomes=ended, released=released))
        frontier.leave()

    def complete(self, crawl_id: int) -> None:
        self.visit_all()
        self.store.upkeep.run_once()
        assert self.store.catalog.crawl(crawl_id).state is CrawlState.COMPLETED


@contextmanager
def live_server(settings: ProcessSettings, *, every_ms: float = 50.0) -> Iterator[LiveServer]:
    server = LiveServer(settings, every_ms=every_ms)
    try:
        yield server
    finally:
        server.stop()


def settings_of(**values: Any) -> ProcessSettings:
    return ProcessSettings(**values)
