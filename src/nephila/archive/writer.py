"""Writes WARC 1.1 files: one gzip member per record, made durable before the row that names it commits.

A batch is: append ... append, sync, (the store commits), committed. Not thread-safe: the worker's flush thread owns it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nephila import __version__
from nephila.archive.file import ArchiveFile
from nephila.archive.member import compress_member
from nephila.archive.record import (
    HEAD_BYTES_PARSED_MAX,
    HEAD_LENGTH_FIELD,
    REVISIT_PROFILE,
    TRUNCATIONS,
    block_digest,
    encode_record,
    field_value,
    head_is_regular,
    new_record_id,
    payload_digest,
    warc_date,
)
from nephila.archive.revisit import Original, Originals
from nephila.clock import Clock
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace

FILE_BYTES_MAX = 1024**3
REVISIT_CACHE_MAX = 100_000
# Below this a revisit record (its references, 300 bytes) would be larger than the body it saves.
REVISIT_PAYLOAD_BYTES_MIN = 256
SERIAL_MAX = 99_999


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
    body_sha256: bytes | None = None  # of `body`, where the caller has it already: saves 37 us on 36 KB


class ArchiveWriter:
    def __init__(
        self,
        folder: Path,
        session: str,
        clock: Clock,
        *,
        info: Mapping[str, str] | None = None,
        file_bytes_max: int = FILE_BYTES_MAX,
        revisit_cache_max: int = REVISIT_CACHE_MAX,
    ) -> None:
        self._folder = folder
        self._session = session
        self._clock = clock
        self._info = dict(info or {})
        self._file_bytes_max = file_bytes_max
        self._originals = Originals(revisit_cache_max)
        self._file: ArchiveFile | None = None
        self._closed_files: dict[str, int] = {}  # one entry per file of file_bytes_max
        self._serial = 0
        self._warcinfo_id = ""

    @property
    def files(self) -> dict[str, int]:
        """The files of this writer and their sizes."""
        current = {self._file.name: self._file.size} if self._file else {}
        return self._closed_files | current

    def append(self, exchange: Exchange) -> ArchivePlace:
        """Write a response (or revisit) and its request; the place of the former. If it raises, nothing was written."""
        file = self._writable_file()
        opening = b"" if file.size else self._warcinfo_member(file.name)
        shared, record_id, digest = self._shared_fields(exchange), new_record_id(), _payload_sha256(exchange)
        revisit_key = digest if _repeatable(exchange) else None
        original = self._originals.get(revisit_key) if revisit_key else None
        response = compress_member(_answer_record(exchange, shared, record_id, digest, original))
        offset = file.append((opening, response, _request_member(exchange, shared, record_id))) + len(opening)
        place = ArchivePlace(file.name, offset, len(response))
        if revisit_key and original is None:
            self._originals.add(revisit_key, Original(record_id, exchange.url, exchange.fetched_at, place))
        return place

    def sync(self) -> None:
        """After this every appended byte is durable. If it raises, call it again: places stay as they are."""
        if self._file is not None:
            self._file.make_durable()
        self._originals.synced()

    def committed(self) -> None:
        """The rows that name what was appended before the last sync are committed: revisits may now refer to it."""
        self._originals.committed()

    def discard(self) -> None:
        """The batch is dropped. What is not durable yet is cut off; what is stays: its commit may have succeeded."""
        self._originals.discard()
        if self._file is not None:
            self._file.discard()

    def close(self) -> None:
        file = self._file
        if file is None:
            return
        file.make_durable()
        file.close()
        self._closed_files[file.name] = file.size
        self._file = None

    def _writable_file(self) -> ArchiveFile:
        if self._file is not None and self._file.size >= self._file_bytes_max:
            self.close()
        if self._file is None:
            self._file = self._new_file()
        return self._file

    def _new_file(self) -> ArchiveFile:
        second = datetime.fromtimestamp(self._clock.now_ms() // 1000, UTC).strftime("%Y%m%d%H%M%S")
        while self._serial < SERIAL_MAX:
            self._serial += 1
            name = f"nephila-{second}-{self._session[:8]}-{self._serial:05d}.warc.gz"
            file = ArchiveFile.create(self._folder, name)
            if file is not None:
                return file
        raise ArchiveError(f"no free file name is left in {self._folder} for session {self._session[:8]}")

    def _warcinfo_member(self, name: str) -> bytes:
        self._warcinfo_id = new_record_id()
        lines = {
            "software": f"Nephila/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            **self._info,
        }
        block = "".join(f"{_one_line(key)}: {_one_line(value)}\r\n" for key, value in lines.items()).encode()
        fields = (
            "WARC-Type: warcinfo\r\n"
            f"WARC-Record-ID: {self._warcinfo_id}\r\n"
            f"WARC-Date: {warc_date(self._clock.now_ms())}\r\n"
            f"WARC-Filename: {name}\r\n"
            f"WARC-Block-Digest: {block_digest(block)}\r\n"
            "Content-Type: application/warc-fields\r\n"
        )
        return compress_member(encode_record(fields, block))

    def _shared_fields(self, exchange: Exchange) -> str:
        """What the request and the answer have in common."""
        address = f"WARC-IP-Address: {field_value(exchange.ip)}\r\n" if exchange.ip else ""
        # By the warcinfo's id recovery tells our records from gzip members that lie inside the body of a torn one.
        return (
            f"WARC-Warcinfo-ID: {self._warcinfo_id}\r\n"
            f"WARC-Date: {warc_date(exchange.fetched_at)}\r\n"
            f"WARC-Target-URI: {field_value(exchange.url)}\r\n"
            f"WARC-Protocol: {field_value(exchange.protocol)}\r\n"
            f"{address}"
        )


def _answer_record(
    exchange: Exchange, shared: str, record_id: str, digest: bytes | None, original: Original | None
) -> bytes:
    if digest is None:
        return _irregular_record(exchange, shared, record_id)
    if original is None:
        return _response_record(exchange, shared, record_id, digest)
    return _revisit_record(exchange, shared, record_id, digest, original)


def _response_record(exchange: Exchange, shared: str, record_id: str, digest: bytes) -> bytes:
    """Without a block digest, 27 us a page: the payload has one, and the checksum of its member guards all of it."""
    fields = (
        f"WARC-Type: response\r\nWARC-Record-ID: {record_id}\r\n{shared}{_truncation(exchange)}"
        f"WARC-Payload-Digest: {payload_digest(digest)}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
    )
    return encode_record(fields, exchange.header_bytes, exchange.body)


def _irregular_record(exchange: Exchange, shared: str, record_id: str) -> bytes:
    """Bytes as received, but no payload digest: tools would compute it over other bytes and call the file broken."""
    media_type = "application/http" if len(exchange.header_bytes) <= HEAD_BYTES_PARSED_MAX else "message/http"
    fields = (
        f"WARC-Type: response\r\nWARC-Record-ID: {record_id}\r\n{shared}{_truncation(exchange)}"
        f"WARC-Block-Digest: {block_digest(exchange.header_bytes, exchange.body)}\r\n"
        f"{HEAD_LENGTH_FIELD}: {len(exchange.header_bytes)}\r\n"
        f"Content-Type: {media_type};msgtype=response\r\n"
    )
    return encode_record(fields, exchange.header_bytes, exchange.body)


def _revisit_record(exchange: Exchange, shared: str, record_id: str, digest: bytes, original: Original) -> bytes:
    fields = (
        f"WARC-Type: revisit\r\nWARC-Record-ID: {record_id}\r\n{shared}"
        f"WARC-Profile: {REVISIT_PROFILE}\r\n"
        f"WARC-Refers-To: {original.record_id}\r\n"
        f"WARC-Refers-To-Target-URI: {field_value(original.url)}\r\n"
        f"WARC-Refers-To-Date: {warc_date(original.fetched_at)}\r\n"
        f"WARC-Refers-To-Filename: {original.place.file}\r\n"
        f"WARC-Refers-To-File-Offset: {original.place.offset}\r\n"
        f"WARC-Refers-To-File-Length: {original.place.length}\r\n"
        f"WARC-Payload-Digest: {payload_digest(digest)}\r\n"
        f"WARC-Block-Digest: {block_digest(exchange.header_bytes)}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
    )
    return encode_record(fields, exchange.header_bytes)


def _request_member(exchange: Exchange, shared: str, response_id: str) -> bytes:
    if not exchange.request_bytes:
        return b""
    fields = (
        f"WARC-Type: request\r\nWARC-Record-ID: {new_record_id()}\r\n{shared}"
        f"WARC-Concurrent-To: {response_id}\r\n"
        f"WARC-Block-Digest: {block_digest(exchange.request_bytes)}\r\n"
        "Content-Type: application/http;msgtype=request\r\n"
    )
    return compress_member(encode_record(fields, exchange.request_bytes))


def _repeatable(exchange: Exchange) -> bool:
    """Whether this response may be, or become the original of, a revisit."""
    return exchange.truncated is None and len(exchange.body) >= REVISIT_PAYLOAD_BYTES_MIN


def _payload_sha256(exchange: Exchange) -> bytes | None:
    """None where tools would see another payload than the server sent."""
    if not head_is_regular(exchange.header_bytes):
        return None
    return exchange.body_sha256 or hashlib.sha256(exchange.body).digest()


def _truncation(exchange: Exchange) -> str:
    if exchange.truncated is None:
        return ""
    return f"WARC-Truncated: {exchange.truncated if exchange.truncated in TRUNCATIONS else 'unspecified'}\r\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
