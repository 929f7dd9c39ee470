"""One record is one gzip member: how a member is made, and how the one at an offset is read, with bounds."""

import os
from dataclasses import dataclass

from isal import isal_zlib

GZIP_WBITS = 31
# isal's level 1 takes 6 us to set up its tables; level 0 takes 1 us, and 100 bytes more for a request of 500.
SMALL_BYTES = 2048
READ_BYTES_FIRST = 16 * 1024
READ_BYTES_NEXT = 256 * 1024
INFLATE_STEP_BYTES = 1024 * 1024
RECORD_BYTES_MAX = 256 * 1024 * 1024

# isal is typed as if this were an instance.
ISAL_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]

TORN = "the file ends in the middle of a record"


@dataclass(frozen=True, slots=True)
class Member:
    data: bytes  # inflated; empty where it was only measured
    length: int  # compressed bytes; 0 where there is a problem
    problem: str | None = None


def compress_member(record: bytes) -> bytes:
    level = 0 if len(record) < SMALL_BYTES else 1
    compressed: bytes = isal_zlib.compress(record, level, GZIP_WBITS)
    return compressed


def inflate_member(
    fd: int, offset: int, *, read_bytes: int = READ_BYTES_FIRST, bytes_max: int = RECORD_BYTES_MAX
) -> Member:
    """The member that begins at `offset`, whole and with its checksum verified, or what is wrong with it."""
    pieces: list[bytes] = []
    return _walk(fd, offset, read_bytes, bytes_max, pieces)


def measure_member(fd: int, offset: int) -> Member:
    """As inflate_member, but of any size and in constant memory: nothing of it is kept."""
    return _walk(fd, offset, READ_BYTES_FIRST, None, None)


def _walk(fd: int, offset: int, read_bytes: int, bytes_max: int | None, kept: list[bytes] | None) -> Member:
    inflater = isal_zlib.decompressobj(GZIP_WBITS)
    at, inflated, piece = offset, 0, b""
    while not inflater.eof:  # ends: each turn takes bytes from a finite file, or finds none
        chunk = inflater.unconsumed_tail
        if not chunk:
            chunk = os.pread(fd, read_bytes, at)
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
            return Member(b"", 0, f"the record inflates to more than {bytes_max} bytes")
        if kept is not None:
            kept.append(piece)
    data = b"" if kept is None else kept[0] if len(kept) == 1 else b"".join(kept)
    return Member(data, at - len(inflater.unused_data) - offset)
