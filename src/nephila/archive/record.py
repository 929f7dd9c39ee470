"""The text of a WARC 1.1 record: its header fields, its digests, and where its HTTP payload begins. Pure."""

import hashlib
import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote

from nephila.chunked import dechunk
from nephila.errors import ArchiveError

VERSION_LINE = b"WARC/1.1\r\n"
RECORD_END = b"\r\n\r\n"
HEAD_END = b"\r\n\r\n"
VALUE_BYTES_MAX = 64  # of a header that is looked at
LENGTH_DIGITS_MAX = 19  # of Content-Length; Python refuses to read thousands
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
TRUNCATIONS = frozenset({"length", "time", "disconnect"})
# Our own field, only on records whose HTTP head readers would end elsewhere than the server did.
HEAD_LENGTH_FIELD = "Nephila-Head-Length"
# Our own field, only on records with a transfer coding. WARC and jwarc mean the payload without it; warcio 1.8 and
# fastwarc 1.1 would hash the body as it lies there, and call a file with that `WARC-Payload-Digest` broken.
PAYLOAD_DIGEST_FIELD = "Nephila-Payload-Digest"
# fastwarc 1.1 gives up the whole FILE at an `application/http` head above 32 KiB; it does not parse `message/http`.
HEAD_BYTES_PARSED_MAX = 32_000

_random = random.Random()  # seeded by the system: an id must be unique, not secret
_ASCII_BUT_SPACE = "".join(map(chr, range(0x21, 0x7F)))
_TRANSFER_CODINGS = re.compile(rb"^transfer-encoding[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.I | re.M)
_PACKED_CODINGS = (b"gzip", b"x-gzip", b"br", b"zstd", b"deflate")
_PACKED_TYPES = (
    *(b"image/" + kind for kind in (b"jpeg", b"jpg", b"png", b"gif", b"webp", b"avif", b"heic", b"jxl")),
    *(b"video/", b"audio/mpeg", b"audio/mp4", b"audio/aac", b"audio/ogg", b"audio/webm", b"audio/flac", b"font/woff"),
    *(b"application/" + kind for kind in (b"gzip", b"x-gzip", b"zip", b"x-7z", b"x-xz", b"x-bzip", b"x-rar", b"zstd")),
    *(b"application/vnd.openxmlformats", b"application/epub", b"application/java-archive", b"application/ogg"),
)
_ODD_LINE = re.compile(rb"\n(?![!-~]|[ \t]+[!-~])")


@dataclass(frozen=True, slots=True)
class Record:
    fields: dict[str, str]  # names in lower case
    block: bytes

    @property
    def payload_at(self) -> int:
        """Where the payload begins in the block: after the HTTP head."""
        stored = self.fields.get(HEAD_LENGTH_FIELD.lower())
        if stored is not None:
            return int(stored) if stored.isdecimal() else len(self.block)
        end = self.block.find(HEAD_END)
        return end + len(HEAD_END) if end >= 0 else len(self.block)

    @property
    def payload_digest(self) -> str | None:
        """The digest of its payload; that of a revisit is of another record's payload."""
        return self.fields.get("warc-payload-digest") or self.fields.get(PAYLOAD_DIGEST_FIELD.lower())


def head_is_regular(head: bytes) -> bool:
    """Whether every reader ends the HTTP head where the server did: CRLF lines, one blank line, at the end.

    warcio ends it at a line of blanks and at the blank line of a 1xx head; fastwarc does not see lines that end in a
    bare LF.
    """
    return (
        head.endswith(HEAD_END)
        and len(head) <= HEAD_BYTES_PARSED_MAX
        and _ODD_LINE.search(head, 0, len(head) - 3) is None
        and head.count(b"\n") == head.count(b"\r\n")
    )


def is_framed(head: bytes) -> bool:
    """Whether the body has a transfer coding, as most answers of HTTP/1.1 do that are made while they are sent."""
    return b"transfer-encoding" in head.lower() and _TRANSFER_CODINGS.search(head) is not None


def came_packed(head: bytes) -> bool:
    """Whether the body is compressed already, as its content coding or its type says: it would not shrink again."""
    lines = head.lower()
    return _has_value(lines, b"\ncontent-encoding:", _PACKED_CODINGS) or _has_value(
        lines, b"\ncontent-type:", _PACKED_TYPES
    )


def _has_value(lines: bytes, name: bytes, beginnings: tuple[bytes, ...]) -> bool:
    at = lines.find(name) + len(name)
    return at >= len(name) and lines[at : at + VALUE_BYTES_MAX].lstrip(b" \t").startswith(beginnings)


def unframed(head: bytes, body: bytes) -> bytes | None:
    """The payload: `body` without its chunk lines. None where these are broken or the transfer coding is another."""
    if not is_framed(head):
        return body
    if [coding.lower() for coding in _TRANSFER_CODINGS.findall(head)] != [b"chunked"]:
        return None
    dechunked = dechunk(body)
    return None if dechunked.problem else dechunked.body


def field_value(text: str) -> str:
    """`text` as it can stand in a header: printable ASCII without blanks, all else percent-encoded."""
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    return quote(text.encode("utf-8", "surrogatepass"), safe=_ASCII_BUT_SPACE)


def new_record_id() -> str:
    """A random (version 4) UUID; written out because uuid.UUID costs four times as much, os.urandom a system call."""
    digits = f"{_random.getrandbits(128):032x}"
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


def warc_date(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    return f"{_utc_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=256)
def _utc_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def record_parts(fields: str, *block: bytes) -> tuple[bytes, ...]:
    """`fields` are whole lines, each with its line end; their values have passed `field_value`."""
    head = f"WARC/1.1\r\n{fields}Content-Length: {sum(map(len, block))}\r\n\r\n"
    return head.encode("ascii"), *block, RECORD_END


def encode_record(fields: str, *block: bytes) -> bytes:
    return b"".join(record_parts(fields, *block))


def block_digest(*block: bytes) -> str:
    """SHA-1: it guards against decay, not against forgers, and takes 27 us for 36 KB where SHA-256 takes 37."""
    digest = hashlib.sha1(usedforsecurity=False)
    for part in block:
        digest.update(part)
    return "sha1:" + digest.hexdigest()


def payload_digest(sha256: bytes) -> str:
    """SHA-256: a page recorded as a revisit is not stored, so nobody may be able to forge an equal digest."""
    return "sha256:" + sha256.hex()


def parse_record(data: bytes) -> Record:
    head_end = data.find(HEAD_END)
    if not data.startswith(VERSION_LINE) or head_end < 0:
        raise ArchiveError("it is not a WARC 1.1 record")
    fields = _parse_fields(data[len(VERSION_LINE) : head_end])
    start, length = head_end + len(HEAD_END), fields.get("content-length", "")
    if (
        not length.isdecimal()
        or len(length) > LENGTH_DIGITS_MAX
        or len(data) != start + int(length) + len(RECORD_END)
        or not data.endswith(RECORD_END)
    ):
        raise ArchiveError("its Content-Length does not fit the record")
    return Record(fields, data[start : -len(RECORD_END)])


def _parse_fields(lines: bytes) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    return fields


def digest_problem(record: Record) -> str | None:
    """What is wrong with the digests of a record; every record has one of its block or of its payload.

    The payload digest of a revisit is of another record's payload.
    """
    fields = record.fields
    block, payload = fields.get("warc-block-digest"), fields.get("warc-payload-digest")
    unframed_payload = fields.get(PAYLOAD_DIGEST_FIELD.lower())
    if fields.get("warc-type") == "revisit":
        payload = None
    if block is None and payload is None:
        return "it has no digest"
    if block is not None and not digest_holds(block, record.block):
        return "its block digest does not hold"
    head, body = record.block[: record.payload_at], record.block[record.payload_at :]
    if payload is not None and not digest_holds(payload, body):
        return "its payload digest does not hold"
    if unframed_payload is not None and not digest_holds(unframed_payload, unframed(head, body) or b""):
        return "its payload digest does not hold"
    return None


def digest_holds(stored: str, content: bytes) -> bool:
    algorithm, _, value = stored.partition(":")
    if algorithm == "sha1":
        return hashlib.sha1(content, usedforsecurity=False).hexdigest() == value
    return algorithm == "sha256" and hashlib.sha256(content).hexdigest() == value
