"""The real app under uvicorn on loopback, over a real store, for the tests of the documents' faces."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from nephila import wiring
from nephila.api.app import create_app, make_services
from nephila.clock import SystemClock
from nephila.frontier.store import Catalog, Crawl
from tests import postgres
from tests.e2e.harness import Place, close, run_here

START_SECONDS_MAX = 10.0
TIMEOUT_SECONDS = 30.0


@dataclass
class Face:
    client: httpx.Client
    place: Place

    @property
    def catalog(self) -> Catalog:
        return self.place.store().catalog

    def crawl(self, crawl_id: int) -> Crawl:
        """Run it to its end with a real worker in this process."""
        return run_here(self.place, crawl_id)


@contextmanager
def faced(kind: str, folder: Path) -> Iterator[Face]:
    with _place(kind, folder) as place, _serving(place) as client:
        yield Face(client, place)


@contextmanager
def _place(kind: str, folder: Path) -> Iterator[Place]:
    more = {"allow_private": True}
    if kind == "sqlite":
        place = Place(folder, more=more)
        yield place
        place.close()
        return
    with postgres.database() as url:
        place = Place(folder, more=more, url=url)
        yield place
        place.close()


@contextmanager
def _serving(place: Place) -> Iterator[httpx.Client]:
    settings = place.settings()
    opened: list[wiring.Store] = []

    def open_store() -> wiring.Store:
        opened.append(wiring.open_store(settings, create=True))
        return opened[-1]

    services = make_services(settings, SystemClock(), open_store)
    server = uvicorn.Server(uvicorn.Config(create_app(services), log_level="warning", lifespan="on"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            base = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=base, timeout=TIMEOUT_SECONDS) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(START_SECONDS_MAX)
            with suppress(Exception):
                for store in opened:
                    close(store.catalog)
