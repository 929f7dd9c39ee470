"""What only a folder can get wrong; the rest is in tests/contract/test_archive.py."""

from pathlib import Path

import pytest

from nephila.archive.folder import FolderArchive
from nephila.clock import VirtualClock
from nephila.errors import ArchiveError, UsageError
from nephila.models import ArchivePlace


def test_what_the_disk_says_is_one_clear_line(archive: FolderArchive, tmp_path: Path) -> None:
    name = "x.warc.gz"
    (tmp_path / name).mkdir()
    with pytest.raises(ArchiveError, match=r"^archive x\.warc\.gz at 0: the file cannot be used: Is a directory$"):
        archive.read(ArchivePlace(name, 0, 1))
    with pytest.raises(ArchiveError, match="cannot be used: Is a directory"):
        list(archive.members(name))
    with pytest.raises(ArchiveError, match=r"^cannot recover x\.warc\.gz: the file cannot be used: Is a directory$"):
        archive.recover(name)
    with pytest.raises(ArchiveError, match=r"^cannot remove x\.warc\.gz: "):
        archive.remove(name)


def test_a_folder_is_made_with_its_parents(tmp_path: Path, clock: VirtualClock) -> None:
    archive = FolderArchive(tmp_path / "a" / "b", clock)
    assert archive.files() == {}
    archive.prepare()
    assert archive.files() == {} and archive.location == str(tmp_path / "a" / "b")


def test_a_folder_that_cannot_be_made_or_written_is_one_clear_line(
    tmp_path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be made: Not a directory"):
        FolderArchive(tmp_path / "file" / "warc", clock).prepare()
    monkeypatch.setattr("nephila.archive.folder.os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(UsageError, match="cannot write in the archive folder"):
        FolderArchive(tmp_path, clock).prepare()
