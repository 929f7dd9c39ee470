"""Writes WARC 1.1 files: one member per record, made durable before the row that names it commits."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime

from nephila import __version__
from nephila.archive.archive import Exchange
from nephila.archive.file import ArchiveFile
from nephila.archive.packing import Packer
from nephila.archive.record import (
    HEAD_BYTES_PARSED_MAX,
    HEAD_LENGTH_FIELD,
    PAYLOAD_DIGEST_FIELD,
    REVISIT_PROFILE,
    TRUNCATIONS,
    block_digest,
    came_packed,
    encode_record,
    field_value,
    head_is_regular,
    is_framed,
    new_record_id,
    payload_digest,
    record_parts,
    unframed,
    warc_date,
)
from nephila.archive.revisit import Original, Originals
from nephila.clock import Clock
from nephila.errors import ArchiveError, ArchiveFileGone
from nephila.models import ArchivePlace

FILE_BYTES_MAX = 1024**3
REVISIT_CACHE_MAX = 20_000  # payloads a session recognises: 14 MB
# Below this a revisit record (its references, 300 bytes) would be larger than the body it saves.
REVISIT_PAYLOAD_BYTES_MIN = 256
SERIAL_MAX = 99_999
WARCINFO = (
    f"software: Nephila/{__version__}\r\n"
    "format: WARC File Format 1.1\r\n"
    "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
).encode()


class WarcWriter:
    """An `ArchiveWriter` of files that `create` makes: it answers None where the name is taken."""

    def __init__(
        self,
        create: Callable[[str], ArchiveFile | None],
        session: str,
        clock: Clock,
        file_bytes_max: int,
        revisit_cache_max: int,
        packer: Packer,
    ) -> None:
        self._create = create
        self._session = session
        self._clock = clock
        self._file_bytes_max = file_bytes_max
        self._originals = Originals(revisit_cache_max)
        self._packer = packer
        self._file: ArchiveFile | None = None
        self._closed_files: dict[str, int] = {}  # one entry per file of file_bytes_max
        self._serial = 0
        self._warcinfo_id = ""

    @property
    def files(self) -> dict[str, int]:
        current = {self._file.name: self._file.size} if self._file else {}
        return self._closed_files | current

    def append(self, exchange: Exchange) -> ArchivePlace:
        file = self._writable_file()
        opening = b"" if file.size else self._packer.opening + self._warcinfo_member(file.name)
        shared, record_id, framed = self._shared_fields(exchange), new_record_id(), is_framed(exchange.header_bytes)
        digest = _payload_sha256(exchange, framed)
        revisit_key = _revisit_key(exchange, digest, framed)
        original = self._originals.get(revisit_key) if revisit_key else None
        answer = _answer_record(exchange, shared, record_id, digest, framed, original)
        response = self._packer.pack(*answer, packed=original is None and came_packed(exchange.header_bytes))
        try:
            offset = file.append((opening, response, self._request_member(exchange, shared, record_id))) + len(opening)
        except ArchiveFileGone:
            self._forget_file()
            raise
        place = ArchivePlace(file.name, offset, len(response))
        if revisit_key and original is None:
            self._originals.add(revisit_key, Original(record_id, exchange.url, exchange.fetched_at, place))
        return place

    def sync(self) -> None:
        self._make_durable()
        self._originals.synced()

    def committed(self) -> None:
        self._originals.committed()

    def discard(self) -> None:
        self._originals.discard()
        if self._file is not None:
            self._file.discard()

    def close(self) -> None:
        try:
            self._make_durable()
        finally:
            self._end_file()

    def _make_durable(self) -> None:
        if self._file is None:
            return
        try:
            self._file.make_durable()
        except ArchiveFileGone:
            self._forget_file()
            raise

    def _forget_file(self) -> None:
        """A file that was removed is ended: the next append makes another one."""
        self._originals.forget_all()  # some of them were in it
        if self._file is not None:
            self._file.close()
            self._file = None

    def _end_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._closed_files[self._file.name] = self._file.size
            self._file = None

    def _writable_file(self) -> ArchiveFile:
        if self._file is not None and (self._file.size >= self._file_bytes_max or self._packer.learnt):
            self._make_durable()
            self._end_file()
        if self._file is None:
            self._file = self._new_file()
        return self._file

    def _new_file(self) -> ArchiveFile:
        second = datetime.fromtimestamp(self._clock.now_ms() // 1000, UTC).strftime("%Y%m%d%H%M%S")
        while self._serial < SERIAL_MAX:
            self._serial += 1
            name = f"nephila-{second}-{self._session[:8]}-{self._serial:05d}{self._packer.suffix}"
            file = self._create(name)
            if file is not None:
                self._packer.begin()
                return file
        raise ArchiveError(f"no free file name is left for session {self._session[:8]}")

    def _warcinfo_member(self, name: str) -> bytes:
        self._warcinfo_id = new_record_id()
        fields = (
            "WARC-Type: warcinfo\r\n"
            f"WARC-Record-ID: {self._warcinfo_id}\r\n"
            f"WARC-Date: {warc_date(self._clock.now_ms())}\r\n"
            f"WARC-Filename: {name}\r\n"
            f"WARC-Block-Digest: {block_digest(WARCINFO)}\r\n"
            "Content-Type: application/warc-fields\r\n"
        )
        return self._packer.pack(encode_record(fields, WARCINFO))

    def _request_member(self, exchange: Exchange, shared: str, response_id: str) -> bytes:
        if not exchange.request_bytes:
            return b""
        fields = (
            f"WARC-Type: request\r\nWARC-Record-ID: {new_record_id()}\r\n{shared}"
            f"WARC-Concurrent-To: {response_id}\r\n"
            f"WARC-Block-Digest: {block_digest(exchange.request_bytes)}\r\n"
            "Content-Type: application/http;msgtype=request\r\n"
        )
        return self._packer.pack(encode_record(fields, exchange.request_bytes))

    def _shared_fields(self, exchange: Exchange) -> str:
        """Header fields that the request and the answer share."""
        address = f"WARC-IP-Address: {field_value(exchange.ip)}\r\n" if exchange.ip else ""
        # Recovery tells our records from gzip members inside the body of a torn one by the id of the warcinfo.
        return (
            f"WARC-Warcinfo-ID: {self._warcinfo_id}\r\n"
            f"WARC-Date: {warc_date(exchange.fetched_at)}\r\n"
            f"WARC-Target-URI: {field_value(exchange.url)}\r\n"
            f"WARC-Protocol: {field_value(exchange.protocol)}\r\n"
            f"{address}"
        )


def _answer_record(
    exchange: Exchange, shared: str, record_id: str, digest: bytes | None, framed: bool, original: Original | None
) -> tuple[bytes, ...]:
    if digest is not None and original is not None:
        return (_revisit_record(exchange, shared, record_id, digest, original),)
    fields = (
        f"WARC-Type: response\r\nWARC-Record-ID: {record_id}\r\n{shared}{_truncation(exchange)}"
        f"{_digest_fields(exchange, digest, framed)}"
    )
    return record_parts(fields, exchange.header_bytes, exchange.body)


def _digest_fields(exchange: Exchange, digest: bytes | None, framed: bool) -> str:
    if framed and head_is_regular(exchange.header_bytes):
        return _framed_fields(exchange, digest)
    return _irregular_fields(exchange) if digest is None else _regular_fields(digest)


def _framed_fields(exchange: Exchange, digest: bytes | None) -> str:
    """The record keeps the bytes of the wire, which the digest that every tool knows covers."""
    payload = f"{PAYLOAD_DIGEST_FIELD}: {payload_digest(digest)}\r\n" if digest else ""
    return (
        f"WARC-Block-Digest: {block_digest(exchange.header_bytes, exchange.body)}\r\n"
        f"{payload}"
        "Content-Type: application/http;msgtype=response\r\n"
    )


def _regular_fields(digest: bytes) -> str:
    """A block digest would cost 27 us a page: the payload has one, and the checksum of its member guards all of it."""
    return f"WARC-Payload-Digest: {payload_digest(digest)}\r\nContent-Type: application/http;msgtype=response\r\n"


def _irregular_fields(exchange: Exchange) -> str:
    """No payload digest: tools would compute it over other bytes than these and call the file broken."""
    media_type = "application/http" if len(exchange.header_bytes) <= HEAD_BYTES_PARSED_MAX else "message/http"
    return (
        f"WARC-Block-Digest: {block_digest(exchange.header_bytes, exchange.body)}\r\n"
        f"{HEAD_LENGTH_FIELD}: {len(exchange.header_bytes)}\r\n"
        f"Content-Type: {media_type};msgtype=response\r\n"
    )


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


def _revisit_key(exchange: Exchange, digest: bytes | None, framed: bool) -> bytes | None:
    """What finds the original of this response; None where it may neither be nor become one.

    A revisit has the body of its original and a head of its own: both have chunks, or neither has.
    """
    if digest is None or exchange.truncated is not None or len(exchange.body) < REVISIT_PAYLOAD_BYTES_MIN:
        return None
    return digest + b"chunked" if framed else digest


def _payload_sha256(exchange: Exchange, framed: bool) -> bytes | None:
    """None where tools would see another payload than the server sent, or where its chunks are broken."""
    if not head_is_regular(exchange.header_bytes):
        return None
    payload = unframed(exchange.header_bytes, exchange.body) if framed else exchange.body
    if payload is None:
        return None
    if exchange.hashed is not None and payload == exchange.hashed[0]:
        return exchange.hashed[1]
    return hashlib.sha256(payload).digest()


def _truncation(exchange: Exchange) -> str:
    if exchange.truncated is None:
        return ""
    return f"WARC-Truncated: {exchange.truncated if exchange.truncated in TRUNCATIONS else 'unspecified'}\r\n"
