"""The archive under kill -9 and on a full disk, with real processes and a real file system."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nephila.archive.archive import ArchiveWriter
from nephila.archive.folder import FolderArchive
from nephila.archive.verify import check_file
from nephila.clock import SystemClock
from nephila.errors import ArchiveError, DiskFull
from nephila.models import ArchivePlace
from tests.unit.archive.judges import check_place, complaints, exchange

KILLS = 10
BATCHES_MAX = 8
DELAY_SECONDS_MAX = 0.02
EXCHANGES_MAX = 1000


def write_until_killed(folder: Path) -> None:
    """The child: batches of exchanges, each place printed only after its sync."""
    writer = FolderArchive(folder, SystemClock(), file_bytes_max=5_000_000).writer(os.urandom(16).hex())
    while True:
        sizes = (random.choice((100, 5000, 100_000, 2_000_000)) for _ in range(3))
        places = [writer.append(exchange(body=os.urandom(size))) for size in sizes]
        writer.sync()
        print(json.dumps([[place.file, place.offset, place.length] for place in places]), flush=True)
        writer.committed()


def acknowledged_until_killed(folder: Path, batches: int) -> list[ArchivePlace]:
    """Kills the child at a random moment after `batches` acknowledgements, in the middle of whatever it does."""
    command = [sys.executable, "-m", "tests.integration.test_archive_kill", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(batches)]
        with suppress(subprocess.TimeoutExpired):
            child.wait(random.uniform(0, DELAY_SECONDS_MAX))
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    return [ArchivePlace(*place) for line in lines if line.endswith("]\n") for place in json.loads(line)]


@pytest.mark.slow
@pytest.mark.requirement("ST-05")
def test_after_kill_9_every_acknowledged_record_is_whole_and_the_files_are_clean(tmp_path: Path) -> None:
    acknowledged = [
        place for _ in range(KILLS) for place in acknowledged_until_killed(tmp_path, random.randint(0, BATCHES_MAX))
    ]
    archive = FolderArchive(tmp_path, SystemClock())
    for file in archive.files():
        archive.recover(file)
        assert archive.recover(file) is None
    assert [problem for place in acknowledged if (problem := check_place(archive, place))] == []
    assert complaints(*tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip("needs root to mount a small file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(writer: ArchiveWriter) -> list[ArchivePlace]:
    """Appends until the disk is full."""
    places = []
    for _ in range(EXCHANGES_MAX):
        try:
            places.append(writer.append(exchange(body=os.urandom(30_000))))
        except (DiskFull, ArchiveError):
            return places
    raise AssertionError("the disk never got full")


def test_a_full_disk_leaves_whole_records_and_writing_goes_on_when_there_is_space(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(500_000))
    archive = FolderArchive(small_disk / "warc", SystemClock())
    writer = archive.writer("s" * 32)
    places = fill(writer)
    with pytest.raises(DiskFull, match="No space left"):
        writer.append(exchange(body=os.urandom(30_000)))
    path = small_disk / "warc" / places[0].file
    assert path.stat().st_size == writer.files[path.name]
    writer.sync()
    assert complaints(path) == []
    ballast.unlink()
    places.append(writer.append(exchange(body=os.urandom(30_000))))
    writer.close()
    assert [check_place(archive, place) for place in places] == [None] * len(places)
    assert complaints(path) == []


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(2_000_000))
    archive = FolderArchive(small_disk, SystemClock())
    writer = archive.writer("s" * 32)
    for _ in range(2):
        with pytest.raises(DiskFull):
            writer.append(exchange(body=os.urandom(30_000)))
    ballast.unlink()
    place = writer.append(exchange())
    writer.close()
    assert check_place(archive, place) is None
    assert complaints(small_disk / place.file) == []


def test_a_file_that_may_not_grow_is_cut_back_to_whole_records(tmp_path: Path) -> None:
    """Needs no root: the kernel refuses bytes beyond RLIMIT_FSIZE, in the middle of a record."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    archive = FolderArchive(tmp_path, SystemClock())
    writer = archive.writer("s" * 32)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        places = fill(writer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    path = tmp_path / places[0].file
    assert path.stat().st_size == writer.files[path.name] < 200_000
    places.append(writer.append(exchange(body=os.urandom(30_000))))
    writer.close()
    assert all(check.problem is None for check in check_file(archive, path.name))
    assert [check_place(archive, place) for place in places] == [None] * len(places)


if __name__ == "__main__":
    write_until_killed(Path(sys.argv[1]))
