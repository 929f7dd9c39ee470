from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.faced import Face, faced
from tests.api.served import KINDS, Served, served


@pytest.fixture(params=KINDS)
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """A server of its own, on each store."""
    with served(request.param, tmp_path) as running:
        yield running


@pytest.fixture
def client(api: Served) -> Iterator[httpx.Client]:
    """Of this machine, without a token: all access."""
    with api.client() as made:
        yield made


@pytest.fixture(params=KINDS)
def face(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Face]:
    """Of the documents' APIs: a server of its own, on each store."""
    with faced(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Face]:
    with faced("sqlite", tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Face]:
    """Without a crawl, for all tests that make none."""
    with faced("sqlite", tmp_path_factory.mktemp("bare")) as made:
        yield made
