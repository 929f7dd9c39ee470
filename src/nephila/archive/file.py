"""One archive file on disk: appended to in whole groups of members, made durable, cut back when a write fails."""

import errno
import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from nephila.errors import ArchiveFileGone, ArchiveUnavailable, DiskFull, StoreUnavailable

# Compressed bytes kept in memory until they are durable: a failed fdatasync is repeated by writing them again.
UNSYNCED_BYTES_MAX = 64 * 1024 * 1024
IOV_MAX = 1024
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


class ArchiveFile:
    """One file that is only ever extended by whole groups of members, and locked as long as its writer lives."""

    def __init__(self, folder: Path, name: str, fd: int) -> None:
        self.name = name
        self.size = 0
        self._folder = folder
        self._fd = fd
        self._durable_size = 0
        self._unsynced: list[bytes] = []
        self._entry_durable = False
        self._tail_unclean = False  # a failed write may have left bytes beyond `size`
        self._sync_failed = False  # the kernel may have dropped the unsynced pages and forgotten the error

    @classmethod
    def create(cls, folder: Path, name: str) -> "ArchiveFile | None":
        """None where the name is taken. The lock tells recovery that the writer lives: it ends with the process."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            fd = _open_new(folder / name)
        except OSError as error:
            raise _failure(f"cannot create {folder / name}", error) from error
        return None if fd is None else cls(folder, name, fd)

    def append(self, members: tuple[bytes, ...]) -> int:
        """Write `members`, all of them or none, and answer their offset."""
        if self.size - self._durable_size > UNSYNCED_BYTES_MAX:
            self.make_durable()
        try:
            self._cut_unclean_tail()
            self._tail_unclean = True
            written = _write_all(self._fd, members, self.size)
            self._tail_unclean = False
        except OSError as error:
            raise self._failure(error) from error
        offset = self.size
        self.size += written
        self._unsynced.extend(members)
        return offset

    def make_durable(self) -> None:
        """Raises ArchiveFileGone where the file has no name any more: whatever is written there, nobody reads."""
        try:
            if os.fstat(self._fd).st_nlink == 0:
                raise ArchiveFileGone(f"cannot write {self._folder / self.name}: somebody removed it")
            self._cut_unclean_tail()
            self._sync_content()
            self._sync_entry()
        except OSError as error:
            raise self._failure(error) from error

    def discard(self) -> None:
        self.size = self._durable_size
        self._unsynced.clear()
        self._sync_failed = False
        self._tail_unclean = True
        try:
            self._cut_unclean_tail()
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        with suppress(OSError):  # the kernel takes the descriptor back in any case
            os.close(self._fd)

    def _sync_content(self) -> None:
        if self._durable_size == self.size:
            return
        if self._sync_failed:
            _write_all(self._fd, self._unsynced, self._durable_size)
        self._sync_failed = True
        os.fdatasync(self._fd)
        self._sync_failed = False
        self._durable_size = self.size
        self._unsynced.clear()

    def _sync_entry(self) -> None:
        if not self._entry_durable:
            _sync_folder(self._folder)
            _sync_folder(self._folder.parent)
            self._entry_durable = True

    def _cut_unclean_tail(self) -> None:
        if self._tail_unclean:
            os.ftruncate(self._fd, self.size)
            self._tail_unclean = False

    def _failure(self, error: OSError) -> StoreUnavailable:
        with suppress(OSError):  # what cannot be cut now is cut before the next write
            self._cut_unclean_tail()
        return _failure(f"cannot write {self._folder / self.name}", error)


def _open_new(path: Path) -> int | None:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # recovery was faster and has the empty file
        os.close(fd)
        return None
    return fd


def _failure(what: str, error: OSError) -> StoreUnavailable:
    kind = DiskFull if error.errno in FULL_DISK else ArchiveUnavailable
    return kind(f"{what}: {error.strerror or error}")


def _write_all(fd: int, members: Sequence[bytes], offset: int) -> int:
    """Write all members and answer their size. One system call, unless the disk fills up or there are too many."""
    total = sum(map(len, members))
    written = os.pwritev(fd, members, offset) if len(members) < IOV_MAX else 0
    if written < total:
        rest = memoryview(b"".join(members))
        while written < total:  # each turn writes at least a byte or raises
            written += os.pwrite(fd, rest[written:], offset + written)
    return total


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
