"""Whether records hold what they say: one by its place, or all of a file in one pass."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nephila.archive.member import RECORD_BYTES_MAX, Member, inflate_member
from nephila.archive.reader import open_archive, original_place, read_original, read_record
from nephila.archive.record import Record, digest_problem, field_value, parse_record
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace


@dataclass(frozen=True, slots=True)
class RecordCheck:
    offset: int
    length: int  # compressed; 0 where no whole record could be read
    type: str
    target: str
    problem: str | None


def check_place(
    folder: Path, place: ArchivePlace, *, url: str | None = None, record_bytes_max: int = RECORD_BYTES_MAX
) -> str | None:
    """None where the record is whole, its digests hold and (if asked) it is the answer of `url`; else one line.

    Of a revisit, the response it refers to is checked too.
    """
    try:
        record = read_record(folder, place, record_bytes_max=record_bytes_max)
        problem = digest_problem(record) or _revisit_problem(folder, record, record_bytes_max)
    except ArchiveError as error:
        return str(error)
    if problem is None and url is not None and record.fields.get("warc-target-uri") != field_value(url):
        problem = f"it holds the answer of {record.fields.get('warc-target-uri')}"
    return None if problem is None else f"archive {place.file} at {place.offset}: {problem}"


def _revisit_problem(folder: Path, record: Record, record_bytes_max: int) -> str | None:
    place = original_place(record)
    if place is None:
        return None
    original = read_original(folder, record, place, record_bytes_max=record_bytes_max)
    if original.fields.get("warc-payload-digest") != record.fields.get("warc-payload-digest"):
        return "the response it refers to has another payload digest"
    return digest_problem(original)


def check_file(path: Path, *, record_bytes_max: int = RECORD_BYTES_MAX) -> Iterator[RecordCheck]:
    """Every record of a file in order. Ends after the first place where no whole record can be read."""
    with open_archive(path.parent, path.name) as fd:
        offset, size = 0, os.fstat(fd).st_size
        while offset < size:  # ends: each turn moves on by a whole member, or is the last
            member = inflate_member(fd, offset, bytes_max=record_bytes_max)
            yield _check_member(offset, member)
            if member.problem is not None:
                return
            offset += member.length


def _check_member(offset: int, member: Member) -> RecordCheck:
    if member.problem is not None:
        return RecordCheck(offset, 0, "", "", member.problem)
    try:
        record = parse_record(member.data)
    except ArchiveError as error:
        return RecordCheck(offset, member.length, "", "", str(error))
    fields = record.fields
    kind, target = fields.get("warc-type", ""), fields.get("warc-target-uri", "")
    return RecordCheck(offset, member.length, kind, target, digest_problem(record))
