"""Backup of an embedded store and its archive while crawls run. The copy is a data folder like any other."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nephila.archive.archive import Archive
from nephila.errors import ArchiveError, DiskFull, UsageError

STORE, ARCHIVE = "nephila.db", "warc"

Tell = Callable[[str, int, int], None]  # what is copied, how much of it, of how much
CopyStore = Callable[[Path, Callable[[int, int], None]], list[tuple[str, int]]]


@dataclass(frozen=True, slots=True)
class Backup:
    store_bytes: int
    files: int
    archive_bytes: int


def back_up(copy_store: CopyStore, archive: Archive, destination: Path, tell: Tell) -> Backup:
    """Make the folder `destination`, whole or not at all: it is made under another name and then renamed.

    The store comes first. Its rows name no byte of the archive that is not durable, and archive files only grow, so
    the copy has what they name however far the crawl has gone on meanwhile.
    """
    with _made(destination) as made:
        files = copy_store(made / STORE, lambda done, of: tell("pages of the store", done, of))
        (made / ARCHIVE).mkdir()
        total = sum(size for _, size in files)
        _check_room(made, destination, total)
        done = 0
        for name, size in files:
            for written in _copy_file(archive, name, size, made / ARCHIVE / name):
                done += written
                tell("bytes of the archive", done, total)
        sync_folder(made / ARCHIVE)
        store_bytes = (made / STORE).stat().st_size
    return Backup(store_bytes, len(files), total)


@contextmanager
def _made(destination: Path) -> Iterator[Path]:
    if destination.exists() and not (destination.is_dir() and not any(destination.iterdir())):
        raise UsageError(f"{destination} exists: name a folder that does not, or an empty one")
    parent = destination.absolute().parent
    with _writing(destination):
        parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{destination.name}-", suffix=".partial", dir=parent))
    try:
        with _writing(destination):
            yield made
            sync_folder(made)
            made.chmod(0o755)
            made.rename(destination)
            sync_folder(parent)
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _writing(destination: Path) -> Iterator[None]:
    """Whatever the disk of the destination says is one clear line."""
    try:
        yield
    except DiskFull:
        raise DiskFull(_full(destination)) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(_full(destination)) from error
        raise UsageError(f"cannot write the backup {destination}: {error.strerror}") from error


def _full(destination: Path) -> str:
    return f"no space left on the disk of {destination}: nothing was left there; free some, or name another disk"


def _check_room(made: Path, destination: Path, needed: int) -> None:
    """Before hours of copying, not after."""
    room = os.statvfs(made)
    if room.f_bavail * room.f_frsize < needed:
        raise DiskFull(_full(destination))


def _copy_file(archive: Archive, name: str, size: int, path: Path) -> Iterator[int]:
    with path.open("xb", buffering=0) as file:
        copied = 0
        for piece in archive.pieces(name, size):
            file.write(piece)
            copied += len(piece)
            yield len(piece)
        os.fsync(file.fileno())
    if copied != size:
        raise ArchiveError(
            f"{name} has {copied} of its {size} bytes: its crawl was deleted meanwhile, or it is damaged"
        )


def sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
