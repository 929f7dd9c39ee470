"""Finds the whole records of a file: behind damaged ones, and before the one in whose middle its writer was killed."""

from collections.abc import Iterator
from dataclasses import replace

from nephila.archive.member import HEAD_BYTES, READ_BYTES_FIRST, RECORD_BYTES_MAX, Member, ReadAt
from nephila.archive.packing import Packing
from nephila.archive.record import parse_record
from nephila.errors import ArchiveError

SEARCH_BYTES = 1024 * 1024


def walk_members(
    packing: Packing, read_at: ReadAt, start: int, size: int, bytes_max: int
) -> Iterator[tuple[int, Member]]:
    """Every member from `start` on of a file of `size` bytes, with its offset. Behind one with a problem it goes on
    where it can."""
    offset: int | None = start or packing.first
    while offset is not None and offset < size:  # ends: each turn moves on, or is the last
        member = packing.inflate(read_at, offset, read_bytes=READ_BYTES_FIRST, bytes_max=bytes_max)
        if member.problem is None:
            member = replace(member, problem=packing.head_problem(read_at(HEAD_BYTES, offset)))
        yield offset, member
        if member.length:
            offset += member.length
        else:
            offset = _next_own_record(packing, read_at, offset + 1, size, _warcinfo_id(packing, read_at))


def end_of_whole_records(packing: Packing, read_at: ReadAt, start: int, size: int) -> tuple[int, int]:
    """Where the last whole record ends, and how many bytes before that belong to none. A file without one ends at 0,
    also where it has a dictionary."""
    if packing.problem is not None and packing.first <= size:
        raise ArchiveError(packing.problem)  # its records cannot be told from a torn tail
    first = min(start, size) or min(packing.first, size)
    kept, damaged = _skip_whole(packing, read_at, first), 0
    warcinfo = _warcinfo_id(packing, read_at)
    while kept < size:  # ends: each turn finds a record further on, or is the last
        found = _next_own_record(packing, read_at, kept + 1, size, warcinfo)
        if found is None:
            break
        damaged += found - kept
        kept = _skip_whole(packing, read_at, found)
    return (kept, damaged) if kept > packing.first else (0, 0)


def _skip_whole(packing: Packing, read_at: ReadAt, offset: int) -> int:
    while length := packing.inflate(read_at, offset, read_bytes=READ_BYTES_FIRST, bytes_max=None, keep=False).length:
        offset += length
    return offset


def _warcinfo_id(packing: Packing, read_at: ReadAt) -> str | None:
    """None where the first record is itself damaged."""
    return _fields_at(packing, read_at, packing.first).get("warc-record-id")


def _next_own_record(packing: Packing, read_at: ReadAt, start: int, size: int, warcinfo: str | None) -> int | None:
    """The next offset where a whole record of this file begins.

    A member alone proves nothing: a torn record whose body was a gzip file holds that file's members whole, even WARC
    records. Only ours carry the random id of this file's warcinfo.
    """
    at, wanted = start, packing.start
    while at < size:  # ends: moves on by SEARCH_BYTES or to a hit
        window = read_at(SEARCH_BYTES + len(wanted) - 1, at)
        hit = window.find(wanted)
        if hit < 0:
            at += SEARCH_BYTES
        elif (own := _fields_at(packing, read_at, at + hit)) and warcinfo in (None, own.get("warc-warcinfo-id")):
            return at + hit
        else:
            at += hit + 1
    return None


def _fields_at(packing: Packing, read_at: ReadAt, offset: int) -> dict[str, str]:
    """The header fields of the record at `offset`; empty where no whole record begins there."""
    try:
        member = packing.inflate(read_at, offset, read_bytes=READ_BYTES_FIRST, bytes_max=RECORD_BYTES_MAX)
        return parse_record(member.data).fields
    except ArchiveError:
        return {}
