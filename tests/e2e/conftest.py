"""Every end-to-end test runs on both stores, unless it says why not."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet
from tests.e2e.harness import STORES, Places


@pytest.fixture(params=STORES)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    with ExitStack() as opened:
        yield Places(request.param, tmp_path, opened)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """For the faults that only a cluster has: PostgreSQL alone."""
    with ExitStack() as opened:
        made = Fleet(Places("postgres", tmp_path, opened)())
        opened.callback(made.close)
        yield made
