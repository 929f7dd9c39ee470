"""Chunked transfer coding (RFC 9112, 7.1): the bytes of a body without its chunk lines. Pure, bounded, never raises."""

from dataclasses import dataclass

CHUNKS_MAX = 50_000  # 16 MB of one-byte chunks would hold the loop for 4 s; this is 0.1 s
CHUNK_LINE_MAX = 4096
HEX_DIGITS = b"0123456789abcdefABCDEF"


@dataclass(frozen=True, slots=True)
class Dechunked:
    body: bytes
    problem: str = ""  # what was wrong with the chunks; body holds what could be read
    short: bool = False  # by that problem: what followed is lost


def dechunk(body: bytes) -> Dechunked:
    """Undo chunked coding: bare LF, spaces, extensions and a missing end are forgiven; trailers are dropped."""
    pieces: list[memoryview] = []  # of the body itself: copies would be another 16 MB at worst
    view = memoryview(body)
    position, problem = 0, "chunked: too many chunks"
    for _ in range(CHUNKS_MAX):
        end = body.find(b"\n", position, position + CHUNK_LINE_MAX)
        size = _chunk_size(body[position:end]) if end >= 0 else None
        if size is None:
            problem = "chunked: no size line" if position < len(body) else "chunked: cut short"
            break
        if size == 0:
            return Dechunked(b"".join(pieces))
        piece = view[end + 1 : end + 1 + size]
        pieces.append(piece)
        position = end + 1 + size
        if len(piece) < size:
            problem = "chunked: cut short"
            break
        position += 2 if body.startswith(b"\r\n", position) else body.startswith(b"\n", position)
    if position == 0 and body:
        return Dechunked(body, "chunked: not chunked")
    return Dechunked(b"".join(pieces), problem, short=True)


def _chunk_size(line: bytes) -> int | None:
    digits = line.partition(b";")[0].strip()
    if not 0 < len(digits) <= 16 or digits.strip(HEX_DIGITS):
        return None
    return int(digits, 16)
