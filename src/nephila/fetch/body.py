"""From the bytes of the wire to the bytes of the page: de-chunk, then undo the codings. Pure, bounded, never raises."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import brotli
import zstandard
from isal import isal_zlib
from isal.igzip_lib import IsalError

from nephila.chunked import dechunk
from nephila.fetch.headers import Headers

CODINGS_MAX = 5  # stacked codings that are undone
MEMBERS_MAX = 1000  # gzip members of one body
BLOCK_BYTES = 65_536  # fed at once: bounds what `unused_data` copies at the end of each gzip member
SALVAGE_BYTES = 256  # fed at once in broken data: a decoder that raises takes the output of that feed with it
OUTPUT_BYTES = 262_144  # asked of brotli and zstd at once
WINDOW_BYTES_MAX = 8_388_608  # of zstd: what RFC 9659 lets a server use
# What a body may grow to when it is decoded: gzip makes 16 MB of 16 KB where a byte repeats. Pages made of equal rows
# and nothing else reach a ratio of some 100.
RATIO_MAX = 100
RATIO_BYTES_MIN = 2_097_152  # up to here any ratio is good

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_HEAD_BYTES = 18  # the longest head of a frame
REPEATED_BYTE = 1  # the kind of block that has one byte, however long it gets
BLOCKS_MAX = 100_000  # of one zstd frame, whose decoded blocks have up to 128 KB each
WBITS_GZIP, WBITS_ZLIB, WBITS_RAW = 31, 15, -15
CHECKSUM_BYTES = {WBITS_GZIP: 8, WBITS_ZLIB: 4, WBITS_RAW: 0}  # with the size that gzip has beside it
# isal's stub calls its error an object
BROKEN: tuple[type[Exception], ...] = (IsalError, brotli.error, zstandard.ZstdError)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Decoded:
    body: bytes
    truncated: bool = False  # at the limit
    problem: str = ""  # what was wrong with the data; body holds what could be decoded
    short: bool = False  # by that problem: the data broke off or was broken, and what followed is lost


def decode_body(headers: Headers, body: bytes, limit: int) -> Decoded:
    """The page as its author wrote it, at most `limit` bytes of it, also where its codings lie or break off."""
    return undo(codings_of(headers), body, limit)


def codings_of(headers: Headers) -> list[str]:
    """The codings of a body in the order in which they are undone; `chunked` is the first."""
    transfer, content = _codings(headers, "transfer-encoding"), _codings(headers, "content-encoding")
    if "chunked" in transfer:
        transfer = [*(coding for coding in transfer if coding != "chunked"), "chunked"]
    return [*reversed(transfer), *reversed(content)]


def undo(codings: Sequence[str], body: bytes, limit: int) -> Decoded:
    """A body without its codings, at most `limit` bytes of it, and RATIO_MAX times what came."""
    if not body:
        return Decoded(body)  # also a 204 that calls itself chunked
    problem, short = "", False
    if codings and codings[0] == "chunked":
        dechunked = dechunk(body)
        body, problem, short, codings = dechunked.body, dechunked.problem, dechunked.short, codings[1:]
    if not codings:
        return Decoded(body[:limit], len(body) > limit, problem, short)
    grown_max = max(RATIO_MAX * len(body), RATIO_BYTES_MIN)
    decoded = _undo(codings, body, min(limit, grown_max), problem, short)
    if decoded.truncated and grown_max < limit:
        return replace(decoded, problem=problem or f"cut at {RATIO_MAX} times its compressed size")
    return decoded


def _codings(headers: Headers, name: str) -> list[str]:
    values = headers.all(name)
    if not values:
        return values
    words = (word.strip().lower() for value in values for word in value.split(","))
    return [word for word in words if word not in ("", "identity", "none")]


def _undo(codings: Sequence[str], body: bytes, limit: int, problem: str, short: bool) -> Decoded:
    truncated = False
    for coding in codings[:CODINGS_MAX]:
        decoder = DECODERS.get(coding)
        if decoder is None:
            problem = problem or f"unknown coding {coding[:40]}"
            break
        stage = decoder(body, limit)
        body, truncated, short = stage.body, truncated or stage.truncated, short or stage.short
        problem = problem or (f"{coding}: {stage.problem}" if stage.short else stage.problem)
    if len(codings) > CODINGS_MAX:
        problem = problem or "too many codings"
    return Decoded(body[:limit], truncated or len(body) > limit, problem, short)


def _gunzip(body: bytes, limit: int) -> Decoded:
    if not body.startswith(GZIP_MAGIC):
        return _mislabelled("gzip", body)
    return _inflate(body, WBITS_GZIP, limit)


def _undeflate(body: bytes, limit: int) -> Decoded:
    """RFC 9110 means zlib by `deflate`; some servers send it raw."""
    zlib_head = len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    decoded = _inflate(body, WBITS_ZLIB if zlib_head else WBITS_RAW, limit)
    if decoded.problem and not decoded.body:
        return _mislabelled("deflate", body)
    return decoded


def _inflate(body: bytes, wbits: int, limit: int) -> Decoded:
    """isal inflates a 36 KB page in 76 us where zlib takes 237, and forgives the same faults."""
    decoded = _gathered(_inflated(BLOCK_BYTES, body, wbits, limit), limit)
    if decoded.problem.startswith("broken"):
        # Without its checksum at the end: a wrong one, which browsers do not look at, would cost the last step.
        salvaged = _gathered(_inflated(SALVAGE_BYTES, body[: len(body) - CHECKSUM_BYTES[wbits]], wbits, limit), limit)
        return replace(salvaged, problem=decoded.problem)
    return decoded


def _inflated(step: int, body: bytes, wbits: int, limit: int) -> Iterator[bytes]:
    position, members, room = 0, 1, limit + 1
    decoder, view = isal_zlib.decompressobj(wbits), memoryview(body)
    while position < len(body):
        block = view[position : position + step]
        piece = decoder.decompress(block, room)
        yield piece
        room -= len(piece)
        position += len(block)
        if decoder.eof:
            position -= len(decoder.unused_data)
            if wbits != WBITS_GZIP or members == MEMBERS_MAX or view[position : position + 2] != GZIP_MAGIC:
                return
            decoder, members = isal_zlib.decompressobj(wbits), members + 1
    if not decoder.eof:
        raise EOFError


def _unbrotli(body: bytes, limit: int) -> Decoded:
    decoded = _gathered(_unbrotlied(len(body), body), limit)
    if decoded.problem.startswith("broken"):
        decoded = _gathered(_unbrotlied(SALVAGE_BYTES, body), limit)
    if decoded.problem and not decoded.body:
        return _mislabelled("br", body)
    return decoded


def _unbrotlied(step: int, body: bytes) -> Iterator[bytes]:
    position, decoder = 0, brotli.Decompressor()
    while not decoder.is_finished():
        # A decoder that can accept more may still have output: only one without input and output has ended too soon.
        block = body[position : position + step] if decoder.can_accept_more_data() else b""
        position += len(block)
        piece = decoder.process(block, output_buffer_limit=OUTPUT_BYTES)
        if not (piece or block):
            raise EOFError
        yield piece


def _unzstd(body: bytes, limit: int) -> Decoded:
    if not body.startswith(ZSTD_MAGIC):
        return _mislabelled("zstd", body)
    return _gathered(_unzstded(body), limit)


def _unzstded(body: bytes) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES_MAX)
    reader = decoder.stream_reader(body, read_across_frames=True)
    while piece := reader.read(OUTPUT_BYTES):
        yield piece
    if not _frames_end(body):
        raise EOFError


def _gathered(pieces: Iterator[bytes], limit: int) -> Decoded:
    """What a decoder brings, up to the limit, to where its data is broken, or to where it ends too soon (EOFError)."""
    gathered: list[bytes] = []
    size, problem = 0, ""
    try:
        for piece in pieces:
            gathered.append(piece)
            size += len(piece)
            if size > limit:
                gathered[-1] = piece[: limit - size]  # here: a second copy of all would cost a worker its limit again
                return Decoded(b"".join(gathered), truncated=True)
    except EOFError:
        problem = "cut short"
    except BROKEN as error:
        problem = f"broken: {error}"
    return Decoded(b"".join(gathered), problem=problem, short=bool(problem))


def _frames_end(body: bytes) -> bool:
    """Has each zstd frame its last block and its checksum? The reader takes one that is cut short for a whole one."""
    position = 0
    try:
        while body.startswith(ZSTD_MAGIC, position):
            head = body[position : position + ZSTD_HEAD_BYTES]
            checksum = 4 if zstandard.get_frame_parameters(head).has_checksum else 0
            position = _last_block_end(body, position + zstandard.frame_header_size(head)) + checksum
    except (zstandard.ZstdError, EOFError):
        return False
    return position <= len(body)


def _last_block_end(body: bytes, position: int) -> int:
    """Where the blocks of a zstd frame end. A block has 3 bytes that say whether it is the last, its kind and size."""
    for _ in range(BLOCKS_MAX):
        head = int.from_bytes(body[position : position + 3], "little")
        if position + 3 > len(body):
            break
        position += 3 + (1 if head >> 1 & 3 == REPEATED_BYTE else head >> 3)
        if head & 1:
            return position
    raise EOFError


def _mislabelled(coding: str, body: bytes) -> Decoded:
    """A body that is not what its header says is most often plain."""
    return Decoded(body, problem=f"not {coding}") if body else Decoded(b"")


DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
# Not zstd, though we read it: warcio and pywb 2.10 do not, and would show its bytes as they are.
ACCEPT_ENCODING = "gzip, deflate, br"
