"""How the records of a file are compressed, by its name: one gzip member or one Zstandard frame each."""

from typing import Protocol

from nephila.archive.member import GzipPacker, GzipPacking, Member, ReadAt
from nephila.archive.zstd import ZstdPacker, read_packing
from nephila.models import ArchiveFormat


class Packing(Protocol):
    """What reads the members of one file."""

    @property
    def start(self) -> bytes:
        """How every member of ours begins: what is looked for behind a damaged one."""

    @property
    def first(self) -> int:
        """Where the first member begins."""

    @property
    def problem(self) -> str | None:
        """Why no member of this file can be read."""

    def inflate(
        self, read_at: ReadAt, offset: int, *, read_bytes: int, bytes_max: int | None, keep: bool = True
    ) -> Member:
        """The member that begins at `offset`, whole and with its checksum verified, or what is wrong with it.

        `read_bytes` is what is read first. Without `keep` and `bytes_max` it is only measured, whatever its size.
        """

    def inflate_whole(self, data: bytes | memoryview) -> bytes | None:
        """What a member holds that is all of `data`. None: ask `inflate`, it is not one of ours or it is large."""

    def head_problem(self, head: bytes) -> str | None:
        """What is wrong with the first bytes of a member, which no checksum covers."""


class Packer(Protocol):
    """What writes the members of one session's files."""

    @property
    def suffix(self) -> str:
        """How the names of its files end."""

    @property
    def learnt(self) -> bool:
        """Whether a file that is begun now would be smaller than one that goes on."""

    @property
    def opening(self) -> bytes:
        """What the file that was begun last has before its first member."""

    def begin(self) -> None:
        """A new file is begun."""

    def pack(self, *record: bytes, packed: bool = False) -> bytes:
        """The member of a record, which is given in parts; `packed`: most of it came compressed, and would not
        shrink."""


GZIP_PACKING = GzipPacking()


def packing_of(file: str, read_at: ReadAt) -> Packing:
    return read_packing(read_at) if file.endswith(ZstdPacker.suffix) else GZIP_PACKING


def packer_of(format: ArchiveFormat) -> Packer:
    return ZstdPacker() if format is ArchiveFormat.ZSTD else GzipPacker()
