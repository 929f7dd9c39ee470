"""Whether the records of a file hold what they say, in one pass."""

from collections.abc import Iterator
from dataclasses import dataclass

from nephila.archive.archive import Archive
from nephila.archive.member import Member
from nephila.archive.record import digest_problem, parse_record
from nephila.errors import ArchiveError


@dataclass(frozen=True, slots=True)
class RecordCheck:
    offset: int
    length: int  # compressed; 0 where nobody can tell
    type: str
    target: str
    problem: str | None


def check_file(archive: Archive, file: str, start: int = 0) -> Iterator[RecordCheck]:
    """Every record of a file in order, from `start` on, where one begins. Behind a damaged one it goes on with the
    next whole record of this file."""
    for offset, member in archive.members(file, start):
        yield _check_member(offset, member)


def _check_member(offset: int, member: Member) -> RecordCheck:
    if member.problem is not None:
        return RecordCheck(offset, member.length, "", "", member.problem)
    try:
        record = parse_record(member.data)
    except ArchiveError as error:
        return RecordCheck(offset, member.length, "", "", str(error))
    fields = record.fields
    kind, target = fields.get("warc-type", ""), fields.get("warc-target-uri", "")
    return RecordCheck(offset, member.length, kind, target, digest_problem(record))
