"""The kinds of archive under contract: each opens the same files any number of times, and can be spoilt."""

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import zstandard

from nephila.archive.archive import Archive, ArchiveWriter
from nephila.archive.file import ArchiveFile
from nephila.archive.folder import FolderArchive
from nephila.archive.writer import WarcWriter
from nephila.archive.zstd import ZstdPacker, trained
from nephila.clock import Clock, VirtualClock
from nephila.models import ArchiveFormat


class ArchiveKind(Protocol):
    """One fresh archive."""

    suffix: str  # of the names of its files

    def member(self, content: bytes) -> bytes:
        """A whole member with this content, which need not be a record."""

    def stored(self, content: bytes) -> bytes:
        """As `member`, but the content stands in it as it is."""

    def open(self, **limits: int) -> Archive:
        """As another process sees it. Limits: `file_bytes_max`, `revisit_cache_max`, `record_bytes_max`."""

    def content(self, file: str) -> bytes: ...
    def put(self, file: str, content: bytes) -> None:
        """Make a file, or replace its bytes, without the archive's knowledge: a crash, decay, a stranger."""


class FolderKind:
    suffix = ".warc.gz"
    made: Callable[..., FolderArchive] = FolderArchive
    given: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "warc"

    def open(self, **limits: int) -> Archive:
        return type(self).made(self.folder, VirtualClock(), **limits, **self.given)

    def content(self, file: str) -> bytes:
        return (self.folder / file).read_bytes()

    def put(self, file: str, content: bytes) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / file).write_bytes(content)

    def member(self, content: bytes) -> bytes:
        return gzip.compress(content, mtime=0)

    def stored(self, content: bytes) -> bytes:
        return gzip.compress(content, 0, mtime=0)


class ZstdKind(FolderKind):
    """Files without a dictionary, as the first of each session is."""

    suffix = ".warc.zst"
    given = {"format": ArchiveFormat.ZSTD}  # noqa: RUF012

    def member(self, content: bytes) -> bytes:
        return zstandard.ZstdCompressor(write_checksum=True).compress(content)

    def stored(self, content: bytes) -> bytes:
        """A frame of blocks that are not compressed; its checksum is missing, so it is torn."""
        size = len(content)
        blocks = [content[at : at + 100_000] for at in range(0, size, 100_000)]
        head = bytes.fromhex("28b52ffda4") + size.to_bytes(4, "little")  # size in four bytes, one segment, a checksum
        ends = (
            (len(block) << 3 | (number == len(blocks) - 1)).to_bytes(3, "little") for number, block in enumerate(blocks)
        )
        return head + b"".join(end + block for end, block in zip(ends, blocks, strict=True)) + bytes(4)


DICTIONARY = trained([b"<html><body><p>some text %d</p> and more of it %d</body>" % (n, n * n) * 4 for n in range(500)])


class ArchiveWithDictionary(FolderArchive):
    """Every file has a dictionary, the first as well."""

    def writer(self, session: str) -> ArchiveWriter:  # type: ignore[override]
        create = partial(ArchiveFile.create, self.folder)
        assert DICTIONARY is not None
        limits = self.file_bytes_max, self.revisit_cache_max
        return WarcWriter(create, session, self.clock, *limits, ZstdPacker(DICTIONARY))


class DictionaryKind(ZstdKind):
    made = ArchiveWithDictionary


# The archive of each kind in a folder, for tests of what uses archives.
OPENED: dict[str, Callable[[Path, Clock], FolderArchive]] = {
    "gzip": FolderArchive,
    "zstd": partial(FolderArchive, format=ArchiveFormat.ZSTD),
    "zstd with a dictionary": partial(ArchiveWithDictionary, format=ArchiveFormat.ZSTD),
}
ARCHIVES: dict[str, Callable[[Path], ArchiveKind]] = {
    "gzip": FolderKind,
    "zstd": ZstdKind,
    "zstd with a dictionary": DictionaryKind,
}
