"""The folder of a process: gone with it, or with the next one after a kill."""

import os
from pathlib import Path

import pytest

from nephila.control.scratch import Scratch


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
