"""The archive as its users see it: writers append, everyone else reads by place, lists, removes and recovers.

Files have the names that rows carry. Nothing here is a path or a file descriptor: a folder on disk is the first kind
(`FolderArchive`), and another kind may keep its files elsewhere. `tests/contract/test_archive.py` holds for every kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from nephila.archive.member import Member
from nephila.archive.packing import Packing
from nephila.archive.record import Record
from nephila.models import ArchivePlace


@dataclass(slots=True)
class Exchange:
    """One request and its answer, as they went over the wire."""

    url: str
    fetched_at: int  # ms since 1970
    ip: str | None
    protocol: str  # http/1.1, h2
    request_bytes: bytes
    header_bytes: bytes  # the head of the final response, with its blank line
    body: bytes  # as received: chunked and encoded
    truncated: str | None = None  # length | time | disconnect
    # Bytes that the caller has hashed, and their SHA-256: where they are the payload, 37 us on 36 KB are saved.
    hashed: tuple[bytes, bytes] | None = None


@dataclass(frozen=True, slots=True)
class TornTail:
    """What a recovery found at the end of a file."""

    file: str
    kept: int  # size of the file now
    cut: int  # bytes of the torn record that were removed
    damaged: int = 0  # bytes before `kept` that belong to no whole record: decay, not a torn tail, so they are left


class ArchiveWriter(Protocol):
    """The writer of one session, with files of its own. Not thread-safe: the worker's flush thread owns it.

    A batch is: append ... append, sync, (the store commits), committed. Methods that write raise DiskFull where there
    is no space and ArchiveUnavailable otherwise: the same batch is tried again until it succeeds.
    """

    @property
    def files(self) -> dict[str, int]:
        """The files of this writer and their sizes."""

    def append(self, exchange: Exchange) -> ArchivePlace:
        """Write a response (or revisit) and its request; the place of the former. If it raises, nothing was written."""

    def sync(self) -> None:
        """Make every appended byte durable and readable. If it raises, call it again: places stay as they are.

        But for ArchiveFileGone: what was appended since the last sync is appended again, and gets other places.
        """

    def committed(self) -> None:
        """The rows that name what was appended before the last sync are committed: revisits may now refer to it."""

    def discard(self) -> None:
        """Drop the batch. What is not durable yet is cut off; what is stays: its commit may have succeeded."""

    def close(self) -> None:
        """Sync, and end the current file. Recovery may look at it from now on, also where this raises."""


class Archive(Protocol):
    """All WARC files of a store. Any thread may use it; what it cannot do it says with an ArchiveError of one line."""

    @property
    def location(self) -> str:
        """Where the files are, for messages."""

    def prepare(self) -> None:
        """Make it ready for writers. UsageError where it cannot be written."""

    def writer(self, session: str) -> ArchiveWriter:
        """A new writer; `session` is a random name, which its files carry."""

    def read(self, place: ArchivePlace) -> Record:
        """The response or revisit record at `place`, with its checksum verified."""

    def members(self, file: str, start: int = 0) -> Iterator[tuple[int, Member]]:
        """Every member of a file in order, with its offset; behind one with a problem, those that are found again.

        `start` is where a member begins.
        """

    def packing(self, file: str) -> Packing:
        """How the members of a file are read that somebody has the bytes of."""

    def stretch(self, file: str, start: int, length: int) -> bytes:
        """So many bytes of a file, fewer only at its end."""

    def pieces(self, file: str, size: int) -> Iterator[bytes]:
        """The first `size` bytes of a file, or all where it has fewer."""

    def has(self, file: str) -> bool: ...

    def files(self) -> dict[str, int]:
        """Names and sizes of all files, by name."""

    def remove(self, file: str) -> None:
        """Remove a file. One that is not there is no error."""

    def recover(self, file: str, good_until: int = 0) -> TornTail | None:
        """Cut a file whose writer is dead after its last whole record; None where nothing was wrong.

        ArchiveFileBusy where the writer lives, also one that was fenced: it is the only one that may cut the file.

        `good_until` is a boundary known to be good. A file without one whole record is left empty, which readers take
        as an archive without records.
        """
