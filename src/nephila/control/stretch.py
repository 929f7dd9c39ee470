"""A stretch of an archive file and the rows that name places in it, checked together: every byte is read once.

What holds is proven here. Whatever cannot be proven is read again record by record, which also says what is wrong.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from nephila.archive.archive import Archive
from nephila.archive.reader import ANSWERS, ArchivedResponse, archived_response, read_response
from nephila.archive.record import Record, digest_problem, parse_record, payload_digest, unframed
from nephila.errors import ArchiveError
from nephila.fetch.body import decode_body
from nephila.fetch.headers import Headers
from nephila.frontier.records import ArchivedRow
from nephila.models import ArchivePlace

STRETCH_BYTES = 4 << 20  # of a file, and what it takes to reach the next row
STRETCH_ROWS = 2000
READ_BYTES_MAX = 4 * STRETCH_BYTES  # held at once: a longer stretch is one large record, or has no rows


class Stretch(NamedTuple):
    file: str
    start: int
    end: int
    rows: list[ArchivedRow]  # by offset


class Checked(NamedTuple):
    file: str
    start: int
    end: int
    rows: int
    broken: list[tuple[ArchivedRow, str]]  # rows and what is wrong with them
    records: int  # responses and revisits
    whole: bool  # nothing but whole records, from start to end


def cut(file: str, size: int, rows: Iterable[ArchivedRow]) -> Iterator[Stretch]:
    """The stretches of a file, which begin at rows: all its bytes, and all its rows, also those behind its end."""
    start, taken = 0, list[ArchivedRow]()
    for row in rows:
        at = min(max(row.offset, start), size)
        if len(taken) >= STRETCH_ROWS or at - start >= STRETCH_BYTES:
            yield Stretch(file, start, at, taken)
            start, taken = at, []
        taken.append(row)
    yield Stretch(file, start, size, taken)


def check_stretch(archive: Archive, limits: Iterable[int], stretch: Stretch) -> Checked:
    """`limits`: of the bodies of each crawl, up to which they were decoded."""
    file, rows = stretch.file, stretch.rows
    unproven: list[ArchivedRow] = []
    at, row, records = stretch.start, 0, 0
    try:
        for offset, length, data in _members(archive, stretch):
            record = parse_record(data)
            if digest_problem(record) is not None:
                break
            is_answer = record.fields.get("warc-type") in ANSWERS
            while row < len(rows) and rows[row].offset <= offset:
                if not (is_answer and rows[row][2:4] == (offset, length) and _holds(record, rows[row], limits)):
                    unproven.append(rows[row])
                row += 1
            records += is_answer
            at = offset + length
        readable = True
    except ArchiveError:
        readable = False
    broken = [
        (unsure, problem)
        for unsure in (*unproven, *rows[row:])
        if (problem := row_problem(archive, file, unsure, limits)) is not None
    ]
    return Checked(file, stretch.start, stretch.end, len(rows), broken, records, readable and at == stretch.end)


def _members(archive: Archive, stretch: Stretch) -> Iterator[tuple[int, int, bytes]]:
    """Offset, length and content of each member, up to the first one that is not whole."""
    file, start, end = stretch.file, stretch.start, stretch.end
    if end - start > READ_BYTES_MAX:
        for offset, member in archive.members(file, start):
            if offset >= end or member.problem is not None:
                return
            yield offset, member.length, member.data
        return
    packing, view = archive.packing(file), memoryview(archive.stretch(file, start, end - start))
    at = start or packing.first
    for boundary in (*_boundaries(stretch), end):
        while at < boundary:  # ends: each turn moves on
            data, length = packing.inflate_whole(view[at - start : boundary - start]), boundary - at
            if data is None:  # there are several, or it is large
                _, member = next(archive.members(file, at))
                if member.problem is not None:
                    return
                data, length = member.data, member.length
            yield at, length, data
            at += length


def _boundaries(stretch: Stretch) -> Iterator[int]:
    """Where members should begin: at each row, and behind it, where most have their request and nothing else."""
    for row in stretch.rows:
        yield min(row.offset, stretch.end)
        yield min(row.offset + row.length, stretch.end)


def _holds(record: Record, row: ArchivedRow, limits: Iterable[int]) -> bool:
    """Whether a record, whose digests hold, is surely the one of the row. A revisit is not: its body lies elsewhere."""
    fields = record.fields
    if fields.get("warc-type") != "response":
        return False
    if row.content_hash is not None and fields.get("warc-payload-digest") != payload_digest(row.content_hash):
        response = archived_response(record, record.block[record.payload_at :], None)
        return row.content_hash in content_hashes(response, limits)
    try:
        datetime.fromisoformat(fields.get("warc-date", ""))
    except ValueError:
        return False
    return True


def row_problem(archive: Archive, file: str, row: ArchivedRow, limits: Iterable[int]) -> str | None:
    """What is wrong with the record that a row names, read alone."""
    try:
        response = read_response(archive, ArchivePlace(file, row.offset, row.length), verify=True)
    except ArchiveError as error:
        return str(error)
    if row.content_hash is None or row.content_hash in content_hashes(response, limits):
        return None
    return f"archive {file} at {row.offset}: the body is not the one whose hash the row has"


def content_hashes(response: ArchivedResponse, limits: Iterable[int]) -> Iterator[bytes]:
    """Of the body as it is without its chunks (error pages are not decoded), and decoded up to the limit of each crawl.

    Earlier versions hashed error pages with their chunks.
    """
    payload = unframed(response.header_bytes, response.body)
    yield hashlib.sha256(response.body if payload is None else payload).digest()
    yield hashlib.sha256(response.body).digest()
    for limit in limits:
        yield hashlib.sha256(decode_body(Headers(response.headers), response.body, limit).body).digest()
