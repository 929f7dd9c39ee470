"""Reads one archived response from its place: one seek, one member, and for a revisit one more."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from nephila.archive.archive import Archive
from nephila.archive.member import ReadAt
from nephila.archive.packing import packing_of
from nephila.archive.record import Record, digest_problem, parse_record
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace

ANSWERS = ("response", "revisit")
STATUS_DIGITS_MAX = 9  # three by the standard; Python refuses to read thousands


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


def read_response(archive: Archive, place: ArchivePlace, *, verify: bool = False) -> ArchivedResponse:
    """The response at `place`. A revisit gives its own head and the body of the response it refers to.

    With `verify`, records whose digests do not hold are refused.
    """
    record = source = archive.read(place)
    with failing_at(place):
        _check(record, verify)
        original = _original_place(record)
    if original is not None:
        source = _read_original(archive, record, original, verify)
    with failing_at(place):
        return archived_response(record, source.block[source.payload_at :], original)


def _read_original(archive: Archive, revisit: Record, place: ArchivePlace, verify: bool) -> Record:
    """The response that a revisit refers to. Never a revisit itself, so one step always ends the search."""
    record = archive.read(place)
    with failing_at(place):
        if record.fields.get("warc-record-id") != revisit.fields.get("warc-refers-to"):
            raise ArchiveError("it is not the record that a revisit refers to")
        if record.fields.get("warc-type") != "response":
            raise ArchiveError("a revisit refers to it, but it has no body")
        if verify and record.payload_digest != revisit.payload_digest:
            raise ArchiveError("a revisit refers to it, but its payload digest is another")
        _check(record, verify)
    return record


def _check(record: Record, verify: bool) -> None:
    if verify and (problem := digest_problem(record)) is not None:
        raise ArchiveError(problem)


def _original_place(record: Record) -> ArchivePlace | None:
    """Where the body of a revisit lies; None for a response."""
    fields = record.fields
    if fields.get("warc-type") != "revisit":
        return None
    file = fields.get("warc-refers-to-filename", "")
    offset, length = fields.get("warc-refers-to-file-offset", ""), fields.get("warc-refers-to-file-length", "")
    if not (file and offset.isdecimal() and length.isdecimal()):
        raise ArchiveError("the revisit does not say where its body lies")
    return ArchivePlace(file, int(offset), int(length))


def read_answer(read_at: ReadAt, place: ArchivePlace, bytes_max: int) -> Record:
    """The response or revisit record at `place` of the file that `read_at` reads: what every kind of archive does."""
    # The whole member in one read where the place is right; where its length is nonsense, no more than usual.
    read_bytes = min(max(place.length, 1), bytes_max)
    packing = packing_of(place.file, read_at)
    member = packing.inflate(read_at, place.offset, read_bytes=read_bytes, bytes_max=bytes_max)
    if member.problem is not None:
        raise ArchiveError(member.problem)
    if member.length != place.length:
        raise ArchiveError(f"the record has {member.length} bytes, not {place.length}")
    record = parse_record(member.data)
    kind = record.fields.get("warc-type", "")
    if kind not in ANSWERS:
        raise ArchiveError(f"it holds a {kind or 'nameless'} record, not a response")
    return record


def failing_at(place: ArchivePlace) -> AbstractContextManager[None]:
    return failing_as(f"archive {place.file} at {place.offset}")


@contextmanager
def failing_as(what: str) -> Iterator[None]:
    """A context whose errors become an `ArchiveError`, of the same kind if they are one, that begins with `what`."""
    try:
        yield
    except ArchiveError as error:
        raise type(error)(f"{what}: {error}") from error
    except OSError as error:
        raise ArchiveError(f"{what}: {error.strerror}") from error


def archived_response(record: Record, body: bytes, original: ArchivePlace | None) -> ArchivedResponse:
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
        raise ArchiveError(f"its date {text!r} is not a date") from None


def parse_http_head(head: bytes) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Status and headers of the last head, behind those of 1xx. What servers get wrong is forgiven."""
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
    return int(code[0]) if code and code[0].isdecimal() and len(code[0]) <= STATUS_DIGITS_MAX else 0
