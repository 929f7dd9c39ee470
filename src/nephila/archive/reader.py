"""Reads one archived response from its place: one seek, one member, and for a revisit one more."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nephila.archive.member import RECORD_BYTES_MAX, inflate_member
from nephila.archive.record import Record, parse_record
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace

ANSWERS = ("response", "revisit")


@dataclass(frozen=True, slots=True)
class ArchivedResponse:
    url: str
    date: datetime  # aware, UTC
    ip: str | None
    header_bytes: bytes  # as received
    status: int  # 0 where the status line has none
    headers: tuple[tuple[str, str], ...]
    body: bytes  # as received: chunked and encoded
    truncated: str | None
    revisit_of: ArchivePlace | None  # the place the body was read from, where it is not this one


def read_response(folder: Path, place: ArchivePlace, *, record_bytes_max: int = RECORD_BYTES_MAX) -> ArchivedResponse:
    """The response at `place`. A revisit gives its own head and the body of the response it refers to."""
    record = read_record(folder, place, record_bytes_max=record_bytes_max)
    with _naming(place):
        original = original_place(record)
    source = record
    if original is not None:
        source = read_original(folder, record, original, record_bytes_max=record_bytes_max)
    with _naming(place):
        return _archived_response(record, source.block[source.payload_at :], original)


def read_record(folder: Path, place: ArchivePlace, *, record_bytes_max: int = RECORD_BYTES_MAX) -> Record:
    """The response or revisit record at `place`."""
    with _naming(place), open_archive(folder, place.file) as fd:
        # The whole member in one read where the place is right; where its length is nonsense, no more than usual.
        read_bytes = min(max(place.length, 1), record_bytes_max)
        member = inflate_member(fd, place.offset, read_bytes=read_bytes, bytes_max=record_bytes_max)
        if member.problem is not None:
            raise ArchiveError(member.problem)
        if member.length != place.length:
            raise ArchiveError(f"the record has {member.length} bytes, not {place.length}")
        record = parse_record(member.data)
        kind = record.fields.get("warc-type", "")
        if kind not in ANSWERS:
            raise ArchiveError(f"it holds a {kind or 'nameless'} record, not a response")
        return record


def read_original(
    folder: Path, revisit: Record, place: ArchivePlace, *, record_bytes_max: int = RECORD_BYTES_MAX
) -> Record:
    """The response that a revisit refers to. Never a revisit itself, so one step always ends the search."""
    record = read_record(folder, place, record_bytes_max=record_bytes_max)
    with _naming(place):
        if record.fields.get("warc-record-id") != revisit.fields.get("warc-refers-to"):
            raise ArchiveError("it is not the record that a revisit refers to")
        if record.fields.get("warc-type") != "response":
            raise ArchiveError("a revisit refers to it, but it has no body")
    return record


def original_place(record: Record) -> ArchivePlace | None:
    """Where the body of a revisit lies; None for a response."""
    fields = record.fields
    if fields.get("warc-type") != "revisit":
        return None
    file = fields.get("warc-refers-to-filename", "")
    offset, length = fields.get("warc-refers-to-file-offset", ""), fields.get("warc-refers-to-file-length", "")
    if not (file and offset.isdecimal() and length.isdecimal()):
        raise ArchiveError("the revisit does not say where its body lies")
    return ArchivePlace(file, int(offset), int(length))


@contextmanager
def open_archive(folder: Path, file: str) -> Iterator[int]:
    if not file or file != Path(file).name:
        raise ArchiveError("the name is not that of a file in the archive folder")
    try:
        fd = os.open(folder / file, os.O_RDONLY)
    except FileNotFoundError:
        raise ArchiveError(f"there is no such file in {folder}: say --archive DIR if it lies elsewhere") from None
    except OSError as error:
        raise ArchiveError(f"the file cannot be read: {error.strerror}") from error
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _naming(place: ArchivePlace) -> Iterator[None]:
    try:
        yield
    except ArchiveError as error:
        raise ArchiveError(f"archive {place.file} at {place.offset}: {error}") from error
    except OSError as error:
        raise ArchiveError(f"archive {place.file} at {place.offset}: {error.strerror}") from error


def _archived_response(record: Record, body: bytes, original: ArchivePlace | None) -> ArchivedResponse:
    fields = record.fields
    header_bytes = record.block[: record.payload_at]
    status, headers = parse_http_head(header_bytes)
    return ArchivedResponse(
        url=fields.get("warc-target-uri", ""),
        date=_date(fields.get("warc-date", "")),
        ip=fields.get("warc-ip-address"),
        header_bytes=header_bytes,
        status=status,
        headers=headers,
        body=body,
        truncated=fields.get("warc-truncated"),
        revisit_of=original,
    )


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ArchiveError(f"its date {text!r} is none") from None


def parse_http_head(head: bytes) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Status and headers, as forgiving as servers are careless; of several heads (1xx) the last."""
    status, headers = 0, list[tuple[str, str]]()
    for line in head.decode("latin-1").split("\n"):
        line = line.rstrip("\r")
        name, colon, value = line.partition(":")
        if line.startswith("HTTP/"):
            status, headers = _status(line), []
        elif line[:1] in (" ", "\t") and headers:
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {line.strip()}".rstrip())
        elif colon:
            headers.append((name.strip(), value.strip()))
    return status, tuple(headers)


def _status(line: str) -> int:
    code = line.split(maxsplit=2)[1:2]
    return int(code[0]) if code and code[0].isdecimal() else 0
