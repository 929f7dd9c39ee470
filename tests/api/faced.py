"""The real app under uvicorn on loopback, over a real store, for the tests of the documents' faces."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from nephila import wiring
from nephila.api.app import make_services
from nephila.clock import SystemClock
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import Crawl, Frontier
from tests import postgres
from tests.api.served import running
from tests.e2e.harness import Place, close, run_here
from tests.patience import PATIENCE_SECONDS


@dataclass
class Face:
    client: httpx.Client
    place: Place

    @property
    def catalog(self) -> Catalog:
        return self.place.store().catalog

    def crawl(self, crawl_id: int) -> Crawl:
        """Run it to its end with a real worker in this process, which takes other crawls along."""
        crawl = self.catalog.crawl(crawl_id)
        return crawl if crawl.state.over else run_here(self.place, crawl_id)


@dataclass
class FrontierOf:
    """For a `tests.contract.session.Session` in the store of a face."""

    face: Face

    def frontier(self) -> Frontier:
        return wiring.open_frontier(self.face.place.settings())


@contextmanager
def faced(kind: str, folder: Path, **options: Any) -> Iterator[Face]:
    """`options`: process settings."""
    with _place(kind, folder, {"allow_private": True} | options) as place, _serving(place) as client:
        yield Face(client, place)


@contextmanager
def _place(kind: str, folder: Path, more: dict[str, Any]) -> Iterator[Place]:
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
    place.store()  # makes it
    opened: list[wiring.Store] = []

    def open_store() -> wiring.Store:
        opened.append(wiring.open_store(settings))
        return opened[-1]

    services = make_services(settings, SystemClock(), open_store)
    with running(services) as url, httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        yield client
    for store in opened:
        close(store.catalog)
