import os
import signal
from pathlib import Path

import pytest

from nephila.control import checkers, stretch
from nephila.control.verify import verify
from nephila.errors import NephilaError, StoreBusy
from tests.unit.control.filled import Filled
from tests.unit.control.test_verify import verified


def children() -> set[int]:
    """Those of tests before, too, if they left any: they may end at any time."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkers, "BYTES_PER_PROCESS", 1)
    monkeypatch.setattr(stretch, "STRETCH_ROWS", 1)


@pytest.mark.usefixtures("eager")
def test_several_processes_find_the_same(filled: Filled) -> None:
    before = children()
    file = filled.only_archive_file()
    for content in (file.read_bytes(), file.read_bytes()[:-20]):
        file.write_bytes(content)
        told: list[str] = []
        assert verify(filled.catalog, filled.archive, told.append, cores=2).as_json() == verified(filled).as_json()
        assert told[-1].startswith("the archive: 0 of 0 MB, 5 rows")
    assert children() <= before


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreBusy])
def test_nobody_is_left_when_it_is_interrupted(filled: Filled, error: type[BaseException]) -> None:
    before = children()
    seen: set[int] = set()

    def tell(what: str) -> None:
        if what.startswith("the archive"):
            seen.update(children() - before)
            raise error

    with pytest.raises(error):
        verify(filled.catalog, filled.archive, tell, cores=2)
    assert len(seen) == 2
    assert children() <= before


@pytest.mark.usefixtures("eager")
def test_a_process_that_dies_ends_it_with_one_line(filled: Filled) -> None:
    before = children()

    def tell(what: str) -> None:
        for pid in children() - before:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(NephilaError, match=r"^a process that checked the archive has ended[^\n]+$"):
        verify(filled.catalog, filled.archive, tell, cores=2)
    assert children() <= before
