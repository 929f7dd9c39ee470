"""Closes off a file whose writer was killed: the half-written record at its end is cut, and said so."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nephila.archive.member import RECORD_BYTES_MAX, inflate_member, measure_member
from nephila.archive.record import parse_record
from nephila.errors import ArchiveError

# What every member of ours begins with: gzip magic, deflate, no flags, no time.
MEMBER_START = bytes.fromhex("1f8b0800000000")
SEARCH_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TornTail:
    path: Path
    kept: int  # size of the file now
    cut: int  # bytes of the torn record that were removed
    damaged: int = 0  # bytes before `kept` that belong to no whole record: decay, not a torn tail, so they are left


def close_torn_tail(path: Path, good_until: int = 0) -> TornTail | None:
    """Cut `path` after its last whole record; None where nothing was wrong. `good_until`: a boundary known to be good.

    A file without one whole record is left empty, which readers take as an archive without records: to remove it could
    take the file away from a writer that has just created it.
    """
    with _locked(path) as fd:
        size = os.fstat(fd).st_size
        kept, damaged = _end_of_whole_records(fd, good_until, size)
        if kept == size and not damaged:
            return None
        os.ftruncate(fd, kept)
        os.fsync(fd)
        return TornTail(path, kept, size - kept, damaged)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        raise ArchiveError(f"cannot recover {path}: {error.strerror}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fd
    except BlockingIOError:
        raise ArchiveError(f"cannot recover {path}: a living process writes it") from None
    except OSError as error:
        raise ArchiveError(f"cannot recover {path}: {error.strerror}") from error
    finally:
        os.close(fd)


def _end_of_whole_records(fd: int, start: int, size: int) -> tuple[int, int]:
    """Where the last whole record ends, and how many bytes before that belong to none."""
    kept, damaged = _skip_whole(fd, min(start, size)), 0
    warcinfo = _warcinfo_id(fd)
    while kept < size:  # ends: each turn finds a record further on, or is the last
        found = _next_own_record(fd, kept + 1, size, warcinfo)
        if found is None:
            break
        damaged += found - kept
        kept = _skip_whole(fd, found)
    return kept, damaged


def _skip_whole(fd: int, offset: int) -> int:
    while length := measure_member(fd, offset).length:
        offset += length
    return offset


def _next_own_record(fd: int, start: int, size: int, warcinfo: str | None) -> int | None:
    """The next offset where a whole record of this file begins.

    A member alone proves nothing: a torn record whose body was a gzip file holds that file's members whole, even WARC
    records. Only ours carry the random id of this file's warcinfo.
    """
    at = start
    while at < size:  # ends: moves on by SEARCH_BYTES or to a hit
        window = os.pread(fd, SEARCH_BYTES + len(MEMBER_START) - 1, at)
        hit = window.find(MEMBER_START)
        if hit < 0:
            at += SEARCH_BYTES
        elif _is_own_record(fd, at + hit, warcinfo):
            return at + hit
        else:
            at += hit + 1
    return None


def _is_own_record(fd: int, offset: int, warcinfo: str | None) -> bool:
    member = inflate_member(fd, offset, bytes_max=RECORD_BYTES_MAX)
    if member.problem is not None:
        return False
    try:
        fields = parse_record(member.data).fields
    except ArchiveError:
        return False
    return warcinfo is None or fields.get("warc-warcinfo-id") == warcinfo


def _warcinfo_id(fd: int) -> str | None:
    """None where the file's first record is itself damaged."""
    try:
        return parse_record(inflate_member(fd, 0).data).fields.get("warc-record-id")
    except ArchiveError:
        return None
