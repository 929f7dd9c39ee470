"""The contract of the store (frontier/store.py): every test here holds for every backend."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nephila.derived.ledger import Ledger
from nephila.frontier.catalog import Catalog
from nephila.frontier.upkeep import Upkeep
from nephila.links.index import LinkIndex
from nephila.search.index import SearchIndex
from tests.contract.backend import BACKENDS, Backend


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    made = BACKENDS[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture
def catalog(backend: Backend) -> Catalog:
    return backend.catalog()


@pytest.fixture
def upkeep(backend: Backend) -> Upkeep:
    return backend.upkeep()


@pytest.fixture
def index(backend: Backend) -> SearchIndex:
    return backend.index()


@pytest.fixture
def links(backend: Backend) -> LinkIndex:
    return backend.links()


@pytest.fixture
def ledger(backend: Backend) -> Ledger:
    return backend.ledger()
