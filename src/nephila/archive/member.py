"""One record is one member of its file: how a gzip member is made, and how the one at an offset is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isal import isal_zlib

GZIP_WBITS = 31
# isal's level 1 takes 6 us to set up its tables; level 0 takes 1 us, and 100 bytes more for a request of 500.
SMALL_BYTES = 2048
LARGE_BYTES = 1 << 20  # records from here on are compressed part by part
READ_BYTES_FIRST = 16 * 1024
READ_BYTES_NEXT = 256 * 1024
INFLATE_STEP_BYTES = 1024 * 1024
RECORD_BYTES_MAX = 256 * 1024 * 1024

# (bytes, offset) -> at most so many bytes at this offset of a file, fewer only at its end; as os.pread.
ReadAt = Callable[[int, int], bytes]

# isal is typed as if this were an instance.
ISAL_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]

# What every member of ours begins with: gzip, deflate, no flags, no time; 4 stands for our level 0.
MEMBER_HEADS = (bytes.fromhex("1f8b08000000000000ff"), bytes.fromhex("1f8b08000000000004ff"))
HEAD_BYTES = len(MEMBER_HEADS[0])

TORN = "the file ends in the middle of a record"
STORED_BYTES_MAX = 65_535  # of one block of deflate that is not compressed


@dataclass(frozen=True, slots=True)
class Member:
    data: bytes  # inflated; empty where it was only measured
    length: int  # compressed bytes; 0 where nobody can tell
    problem: str | None = None


def refusal_of_size(bytes_max: int) -> str:
    return f"the record inflates to more than {bytes_max} bytes"


def compress_member(record: bytes) -> bytes:
    level = 0 if len(record) < SMALL_BYTES else 1
    compressed: bytes = isal_zlib.compress(record, level, GZIP_WBITS)
    return compressed


def store_member(record: bytes) -> bytes:
    """A member that is not compressed. Of 40 KB that cannot shrink it takes 4 us where isal takes 67."""
    parts = [MEMBER_HEADS[0]]
    for at in range(0, len(record), STORED_BYTES_MAX):
        block = record[at : at + STORED_BYTES_MAX]
        last, size = at + STORED_BYTES_MAX >= len(record), len(block)
        parts += (bytes((last,)), size.to_bytes(2, "little"), (size ^ 0xFFFF).to_bytes(2, "little"), block)
    checksum: int = isal_zlib.crc32(record)
    parts += (checksum.to_bytes(4, "little"), (len(record) & 0xFFFFFFFF).to_bytes(4, "little"))
    return b"".join(parts)


def compress_parts(parts: Sequence[bytes]) -> bytes:
    """The member of a record that is not joined: a large one would be in memory twice."""
    stream = isal_zlib.compressobj(1, isal_zlib.DEFLATED, GZIP_WBITS)
    return b"".join([*map(stream.compress, parts), stream.flush()])


class GzipPacker:
    """A `Packer`."""

    suffix = ".warc.gz"
    learnt = False
    opening = b""

    def begin(self) -> None: ...

    def pack(self, *record: bytes, packed: bool = False) -> bytes:
        if packed:
            return store_member(b"".join(record))
        if sum(map(len, record)) >= LARGE_BYTES:
            return compress_parts(record)
        return compress_member(b"".join(record))


class GzipPacking:
    """A `Packing`."""

    start = MEMBER_HEADS[0][:7]
    first = 0
    problem = None

    def inflate(
        self, read_at: ReadAt, offset: int, *, read_bytes: int, bytes_max: int | None, keep: bool = True
    ) -> Member:
        return inflate_member(read_at, offset, read_bytes=read_bytes, bytes_max=bytes_max, keep=keep)

    def inflate_whole(self, data: bytes | memoryview) -> bytes | None:
        inflater = isal_zlib.decompressobj(GZIP_WBITS)
        try:
            inflated: bytes = inflater.decompress(data, INFLATE_STEP_BYTES)
        except ISAL_ERROR:
            return None
        whole = inflater.eof and not inflater.unused_data and self.head_problem(bytes(data[:HEAD_BYTES])) is None
        return inflated if whole else None

    def head_problem(self, head: bytes) -> str | None:
        return None if head[:HEAD_BYTES] in MEMBER_HEADS else "its gzip header is damaged"


def inflate_member(
    read_at: ReadAt,
    offset: int,
    *,
    read_bytes: int = READ_BYTES_FIRST,
    bytes_max: int | None = RECORD_BYTES_MAX,
    keep: bool = True,
) -> Member:
    """The member that begins at `offset`, whole and with its checksum verified, or what is wrong with it.

    Without `keep` and `bytes_max` it is only measured: of any size, in constant memory.
    """
    kept: list[bytes] = []
    inflater = isal_zlib.decompressobj(GZIP_WBITS)
    at, inflated, piece = offset, 0, b""
    while not inflater.eof:  # ends: each turn takes bytes from a finite file, or finds none
        chunk = inflater.unconsumed_tail
        if not chunk:
            chunk = read_at(read_bytes, at)
            at += len(chunk)
            read_bytes = READ_BYTES_NEXT
        if not chunk and len(piece) < INFLATE_STEP_BYTES:
            return Member(b"", 0, TORN if at > offset else "the file ends before it")
        try:
            piece = inflater.decompress(chunk, INFLATE_STEP_BYTES)
        except ISAL_ERROR as error:
            return Member(b"", 0, "no record begins here" if not inflated else f"the record is damaged ({error})")
        inflated += len(piece)
        if bytes_max is not None and inflated > bytes_max:
            return Member(b"", 0, refusal_of_size(bytes_max))
        if keep:
            kept.append(piece)
    data = kept[0] if len(kept) == 1 else b"".join(kept)
    return Member(data, at - len(inflater.unused_data) - offset)
