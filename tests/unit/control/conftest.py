from pathlib import Path

import pytest

from tests.unit.control.filled import Filled, fill


@pytest.fixture
def filled(tmp_path: Path) -> Filled:
    return fill(tmp_path / "data")
