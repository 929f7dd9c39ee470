"""The command on both stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.command import Command


@pytest.fixture(params=["sqlite", "postgres"])
def nephila(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    """`nephila` with a store and a data folder of its own."""
    with postgres.command(request.param, tmp_path / "data") as made:
        yield made
