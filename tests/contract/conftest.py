"""The contract of the store (frontier/store.py): every test here holds for every backend."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nephila.frontier.store import Catalog, Upkeep
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
