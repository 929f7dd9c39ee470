"""The folder of a process: gone with it, or with the next one after a kill."""

import fcntl
import os
from pathlib import Path

import pytest

from nephila.control.scratch import Scratch, _remove_left


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_it_is_removed_once(temporary: Path) -> None:
    scratch = Scratch()
    (scratch.path / "worker-0").write_text("")
    scratch.remove()
    scratch.remove()
    assert list(temporary.iterdir()) == []


def test_what_the_dead_left_goes_and_what_the_living_have_stays(temporary: Path) -> None:
    living, dead = Scratch(), Scratch()
    os.close(dead._fd)  # as the kernel does at any death
    (temporary / "nephila-other").mkdir()
    mine = Scratch()
    assert set(temporary.iterdir()) == {living.path, mine.path, temporary / "nephila-other"}
    living.remove()
    mine.remove()


def test_one_that_another_process_removes_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def late(fd: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        _remove_left()
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", late)
    scratch = Scratch()
    assert list(temporary.iterdir()) == [scratch.path]
    Scratch().remove()
    assert list(temporary.iterdir()) == [scratch.path], "it is locked"
    scratch.remove()
