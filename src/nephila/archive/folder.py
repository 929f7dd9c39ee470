"""The archive as a folder of WARC files, on this machine's disk or on a file system that all machines share."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nephila.archive.archive import TornTail
from nephila.archive.file import ArchiveFile
from nephila.archive.member import RECORD_BYTES_MAX, Member
from nephila.archive.packing import Packing, packer_of, packing_of
from nephila.archive.reader import failing_as, failing_at, read_answer
from nephila.archive.record import Record
from nephila.archive.recover import end_of_whole_records, walk_members
from nephila.archive.writer import FILE_BYTES_MAX, REVISIT_CACHE_MAX, WarcWriter
from nephila.clock import Clock
from nephila.errors import ArchiveError, ArchiveFileBusy, UsageError
from nephila.models import ArchiveFormat, ArchivePlace

FILE_PATTERNS = ("*.warc.gz", "*.warc.zst")
PIECE_BYTES = 1 << 20  # of a file that is read as a whole


@dataclass(frozen=True, slots=True)
class FolderArchive:
    """An `Archive`. It holds nothing open: each call opens the file it needs."""

    folder: Path
    clock: Clock
    file_bytes_max: int = FILE_BYTES_MAX
    revisit_cache_max: int = REVISIT_CACHE_MAX
    record_bytes_max: int = RECORD_BYTES_MAX
    format: ArchiveFormat = ArchiveFormat.GZIP  # of new files; those that are there are read whatever theirs is

    @property
    def location(self) -> str:
        return str(self.folder)

    def prepare(self) -> None:
        folder = self.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"the archive folder {folder} cannot be made: {error.strerror}") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"cannot write in the archive folder {folder}: check who owns it, or say --archive DIR")

    def writer(self, session: str) -> WarcWriter:
        create = partial(ArchiveFile.create, self.folder)
        limits = self.file_bytes_max, self.revisit_cache_max
        return WarcWriter(create, session, self.clock, *limits, packer_of(self.format))

    def read(self, place: ArchivePlace) -> Record:
        with failing_at(place), self._opened(place.file) as fd:
            return read_answer(partial(os.pread, fd), place, self.record_bytes_max)

    def members(self, file: str, start: int = 0) -> Iterator[tuple[int, Member]]:
        with self._opened(file) as fd:
            read_at, size = partial(os.pread, fd), os.fstat(fd).st_size
            yield from walk_members(packing_of(file, read_at), read_at, start, size, self.record_bytes_max)

    def packing(self, file: str) -> Packing:
        with self._opened(file) as fd:
            return packing_of(file, partial(os.pread, fd))

    def stretch(self, file: str, start: int, length: int) -> bytes:
        with self._opened(file) as fd:
            return os.pread(fd, length, start)

    def pieces(self, file: str, size: int) -> Iterator[bytes]:
        with failing_as(f"cannot read {file}"), self._opened(file) as fd:
            at = 0
            while at < size and (piece := os.pread(fd, min(PIECE_BYTES, size - at), at)):
                yield piece
                at += len(piece)

    def has(self, file: str) -> bool:
        return _is_name(file) and (self.folder / file).exists()

    def files(self) -> dict[str, int]:
        found = {}
        for path in sorted(path for pattern in FILE_PATTERNS for path in self.folder.glob(pattern)):
            with suppress(FileNotFoundError):  # removed just now
                found[path.name] = path.stat().st_size
        return found

    def remove(self, file: str) -> None:
        with failing_as(f"cannot remove {file}"):
            self._path(file).unlink(missing_ok=True)

    def recover(self, file: str, good_until: int = 0) -> TornTail | None:
        """An empty file stays: to remove it could take it away from a writer that has just created it."""
        with failing_as(f"cannot recover {file}"), self._opened(file, os.O_RDWR) as fd:
            _lock(fd)
            read_at, size = partial(os.pread, fd), os.fstat(fd).st_size
            kept, damaged = end_of_whole_records(packing_of(file, read_at), read_at, good_until, size)
            if kept == size and not damaged:
                return None
            os.ftruncate(fd, kept)
            os.fsync(fd)
            return TornTail(file, kept, size - kept, damaged)

    def _path(self, file: str) -> Path:
        if not _is_name(file):
            raise ArchiveError("the name is not that of a file in the archive folder")
        return self.folder / file

    @contextmanager
    def _opened(self, file: str, flags: int = os.O_RDONLY) -> Iterator[int]:
        """Whatever the disk says is an ArchiveError."""
        try:
            fd = os.open(self._path(file), flags)
            try:
                yield fd
            finally:
                os.close(fd)
        except FileNotFoundError:
            advice = "say --archive DIR if it lies elsewhere"
            raise ArchiveError(f"there is no such file in {self.folder}: {advice}") from None
        except OSError as error:
            raise ArchiveError(f"the file cannot be used: {error.strerror}") from error


def _is_name(file: str) -> bool:
    return bool(file) and file == Path(file).name


def _lock(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ArchiveFileBusy("a living process writes it") from None
