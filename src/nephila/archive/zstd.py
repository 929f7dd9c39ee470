"""Zstandard as the IIPC has it for WARC files: a frame for each record, before them one with the dictionary, if any.

https://iipc.github.io/warc-specifications/specifications/warc-zstd/ : each frame states its size, the id of the
dictionary, and a checksum of its content.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import IO, cast

import zstandard
from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdDecompressor, ZstdError

from nephila.archive.member import (
    INFLATE_STEP_BYTES,
    LARGE_BYTES,
    READ_BYTES_NEXT,
    TORN,
    Member,
    ReadAt,
    refusal_of_size,
)

FRAME_MAGIC = bytes.fromhex("28b52ffd")
DICTIONARY_FRAME_MAGIC = bytes.fromhex("5d2a4d18")
DICTIONARY_MAGIC = bytes.fromhex("37a430ec")
HEADER_BYTES_MAX = 18
UNUSED_BIT = 0x10  # of the byte behind the magic: decoders overlook it, and we never set it
BLOCK_RAW, BLOCK_REPEATED, BLOCK_COMPRESSED = range(3)
CHECKSUM_BYTES = 4
DICTIONARY_BYTES_READ_MAX = 8 << 20  # what the specification asks of readers
DICTIONARIES_KEPT = 16

# On 3,000 pages of three documentation sites (20 KB): level 1 with a dictionary takes 41 us a record and leaves 17 % of
# it, level 3 takes 60 and leaves 16; isal's gzip takes 46 and leaves 26. A dictionary of 110 KiB instead of 32 saves
# another hundredth, but whoever reads one record reads it, too.
LEVEL = 1
# Of what came compressed: the same size as level 1, as only the heads shrink, at half of its price.
LEVEL_PACKED = -1
LEVEL_DICTIONARY = 19
DICTIONARY_BYTES = 32 * 1024
# A dictionary is made of the first records of a session: 2 MB are some hundred pages, and take 0.1 s.
SAMPLES_BYTES = 2_000_000
SAMPLE_BYTES_MAX = 16 * 1024  # of one record, so that a few large ones do not fill it
DICTIONARY_IDS = (32_768, 2**31 - 1)  # those that nobody hands out

NO_RECORD = "no record begins here"
DAMAGED_DICTIONARY = "the dictionary of its file is damaged"


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ZstdPacking:
    """A `Packing`: frames, and the dictionary that the file begins with."""

    dictionary: ZstdCompressionDict | None = None
    first: int = 0
    problem: str | None = None
    start: bytes = FRAME_MAGIC

    def inflate(
        self, read_at: ReadAt, offset: int, *, read_bytes: int, bytes_max: int | None, keep: bool = True
    ) -> Member:
        head = read_at(max(read_bytes, HEADER_BYTES_MAX), offset)
        if not head:
            return Member(b"", 0, "the file ends before it")
        if not head.startswith(FRAME_MAGIC[: len(head)]):
            return Member(b"", 0, NO_RECORD)
        if self.problem is not None:
            return Member(b"", 0, self.problem)
        size = content_size(head)
        if size is None:
            return Member(b"", 0, TORN if len(head) < HEADER_BYTES_MAX else NO_RECORD)
        if bytes_max is not None and size > bytes_max:
            return Member(b"", 0, refusal_of_size(bytes_max))
        length = _frame_length(read_at, offset, head)
        if length is None:
            return Member(b"", 0, "the record is damaged (no whole frame)")
        if not read_at(1, offset + length - 1):
            return Member(b"", 0, TORN)
        return self._inflated(_Stretch(read_at, offset, length, head), size, keep)

    def inflate_whole(self, data: bytes | memoryview) -> bytes | None:
        head = bytes(data[:HEADER_BYTES_MAX])
        size = content_size(head) if self.head_problem(head) is None else None
        if self.problem is not None or size is None or size > INFLATE_STEP_BYTES:
            return None
        try:
            inflated: bytes = self._decompressor().decompress(data, allow_extra_data=False)
        except ZstdError:
            return None
        return inflated

    def head_problem(self, head: bytes) -> str | None:
        intact = head.startswith(FRAME_MAGIC) and len(head) > len(FRAME_MAGIC) and not head[4] & UNUSED_BIT
        return None if intact else "the header of its frame is damaged"

    def _inflated(self, frame: "_Stretch", size: int, keep: bool) -> Member:
        kept: list[bytes] = []
        try:
            source = cast(IO[bytes], frame)  # of which nothing but `read` is used
            reader = self._decompressor().stream_reader(source, read_size=READ_BYTES_NEXT)
            inflated = 0
            while piece := reader.read(INFLATE_STEP_BYTES):  # ends: a frame holds what it states, or is refused
                inflated += len(piece)
                if keep:
                    kept.append(piece)
        except ZstdError as error:
            return Member(b"", 0, f"the record is damaged ({error})")
        if inflated != size:
            return Member(b"", 0, f"the record is damaged ({inflated} bytes, not {size})")
        return Member(kept[0] if len(kept) == 1 else b"".join(kept), frame.length)

    def _decompressor(self) -> ZstdDecompressor:
        """A new one for each record: any thread may read, and one of them costs 2 us."""
        return ZstdDecompressor(dict_data=self.dictionary)


@dataclass(slots=True)
class _Stretch:
    """So many bytes of a file as the source of a stream."""

    read_at: ReadAt
    offset: int
    length: int
    head: bytes  # of them, read already
    taken: int = field(default=0, init=False)

    def read(self, size: int) -> bytes:
        size = min(size, self.length - self.taken)
        if self.taken < len(self.head):
            piece = self.head[self.taken : self.taken + size]
        else:
            piece = self.read_at(size, self.offset + self.taken) if size else b""
        self.taken += len(piece)
        return piece


def content_size(head: bytes) -> int | None:
    """What a frame that begins so says it holds; None where it is no frame of a WARC file."""
    try:
        stated = zstandard.get_frame_parameters(head)
    except ZstdError:
        return None
    known = stated.has_checksum and stated.content_size < zstandard.CONTENTSIZE_ERROR
    return int(stated.content_size) if known else None


def _frame_length(read_at: ReadAt, offset: int, head: bytes) -> int | None:
    """Compressed bytes of the frame, by the headers of its blocks; None where they make no sense."""
    at = int(zstandard.frame_header_size(head))
    while True:  # ends: each turn moves on by the header of a block, behind the end of the file there is none
        header = head[at : at + 3] if at + 3 <= len(head) else read_at(3, offset + at)
        if len(header) < 3:
            return at + 3 + CHECKSUM_BYTES  # behind the end of the file
        block = int.from_bytes(header, "little")
        kind, size = block >> 1 & 3, block >> 3
        if kind > BLOCK_COMPRESSED:
            return None
        at += 3 + (1 if kind == BLOCK_REPEATED else size)
        if block & 1:
            return at + CHECKSUM_BYTES


def read_packing(read_at: ReadAt) -> ZstdPacking:
    """How this file is packed: with the dictionary that it begins with, if any."""
    head = read_at(8, 0)
    if head[:4] != DICTIONARY_FRAME_MAGIC or len(head) < 8:
        return ZstdPacking()
    length = int.from_bytes(head[4:], "little")
    content = read_at(length, 8) if length <= DICTIONARY_BYTES_READ_MAX else b""
    dictionary = _dictionary_of(content) if len(content) == length else None
    problem = DAMAGED_DICTIONARY if dictionary is None else None
    return ZstdPacking(dictionary, len(head) + length, problem)


@lru_cache(DICTIONARIES_KEPT)
def _dictionary_of(content: bytes) -> ZstdCompressionDict | None:
    """The dictionary in the content of its frame, compressed or not; None where it is damaged."""
    try:
        if content.startswith(FRAME_MAGIC):
            size = content_size(content)
            if size is None or size > DICTIONARY_BYTES_READ_MAX:
                return None
            content = ZstdDecompressor().decompress(content, allow_extra_data=False)
        if not content.startswith(DICTIONARY_MAGIC):
            return None
        return ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_FULLDICT)
    except ZstdError:
        return None


# --- writing --------------------------------------------------------------------------------------------------------


class ZstdPacker:
    """A `Packer`. The first file of a session has no dictionary; it ends as soon as its records have made one.

    So each file has the dictionary that was decided on when it was opened, and a killed process leaves nothing but
    files that are whole up to their last record.
    """

    suffix = ".warc.zst"

    def __init__(self, dictionary: ZstdCompressionDict | None = None, samples_bytes: int = SAMPLES_BYTES) -> None:
        self._samples: list[bytes] | None = [] if dictionary is None else None  # None: no more are wanted
        self._sampled_bytes = 0
        self._samples_bytes = samples_bytes
        self.opening = b""
        self._use(dictionary)

    @property
    def learnt(self) -> bool:
        return self._samples is not None and self._sampled_bytes >= self._samples_bytes

    def begin(self) -> None:
        if self.learnt:
            samples, self._samples = self._samples, None
            self._use(trained(samples or []))

    def pack(self, *record: bytes, packed: bool = False) -> bytes:
        compressor, size = self._quick if packed else self._usual, sum(map(len, record))
        if self._samples is not None and not packed:
            self._samples.append(b"".join(part[:SAMPLE_BYTES_MAX] for part in record)[:SAMPLE_BYTES_MAX])
            self._sampled_bytes += len(self._samples[-1])
        if size < LARGE_BYTES:
            return compressor.compress(b"".join(record))
        stream = compressor.compressobj(size=size)
        return b"".join([*map(stream.compress, record), stream.flush()])

    def _use(self, dictionary: ZstdCompressionDict | None) -> None:
        self._usual, self._quick = (_compressor(level, dictionary) for level in (LEVEL, LEVEL_PACKED))
        self.opening = b"" if dictionary is None else dictionary_frame(dictionary)


def _compressor(level: int, dictionary: ZstdCompressionDict | None) -> ZstdCompressor:
    return ZstdCompressor(
        level=level, dict_data=dictionary, write_checksum=True, write_content_size=True, write_dict_id=True
    )


def trained(samples: Sequence[bytes]) -> ZstdCompressionDict | None:
    """A dictionary for records like these; None where they are too few or too much alike to make one."""
    try:
        return zstandard.train_dictionary(DICTIONARY_BYTES, list(samples), dict_id=random.randint(*DICTIONARY_IDS))
    except ZstdError:
        return None


def dictionary_frame(dictionary: ZstdCompressionDict) -> bytes:
    """The frame that a file with this dictionary begins with."""
    packed = ZstdCompressor(level=LEVEL_DICTIONARY, write_checksum=True).compress(dictionary.as_bytes())
    return DICTIONARY_FRAME_MAGIC + len(packed).to_bytes(4, "little") + packed
