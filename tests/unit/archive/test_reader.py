import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nephila.archive.reader import parse_http_head, read_response
from nephila.archive.writer import ArchiveWriter
from nephila.clock import VirtualClock
from nephila.errors import ArchiveError
from nephila.models import ArchivePlace
from tests.unit.archive.judges import HEAD, PAGE, exchange


@pytest.fixture
def place(tmp_path: Path, clock: VirtualClock) -> ArchivePlace:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock)
    writer.append(exchange())
    place = writer.append(exchange(url="http://example.org/b", body=PAGE * 9, truncated="length"))
    writer.close()
    return place


def test_a_response_is_read_as_it_was_received(tmp_path: Path, place: ArchivePlace) -> None:
    read = read_response(tmp_path, place)
    assert (read.url, read.ip, read.truncated, read.revisit_of) == (
        "http://example.org/b",
        "192.0.2.7",
        "length",
        None,
    )
    assert read.date == datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
    assert (read.status, read.headers) == (200, (("Content-Type", "text/html"),))
    assert (read.header_bytes, read.body) == (HEAD, PAGE * 9)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"file": "other.warc.gz"}, "no such file"),
        ({"file": "../x.warc.gz"}, "not that of a file in the archive folder"),
        ({"file": ""}, "not that of a file in the archive folder"),
        ({"offset": 7}, "no record begins here"),
        ({"offset": 10**9}, "the file ends before it"),
        ({"offset": 0}, "bytes, not"),
        ({"length": 10**15}, "bytes, not"),
        ({"length": 0}, "bytes, not"),
    ],
)
def test_a_wrong_place_is_one_clear_line(
    tmp_path: Path, place: ArchivePlace, change: dict[str, object], says: str
) -> None:
    with pytest.raises(ArchiveError, match=says) as caught:
        read_response(tmp_path, replace(place, **change))
    assert "\n" not in str(caught.value)


def test_a_record_that_is_no_response_is_refused(tmp_path: Path, place: ArchivePlace) -> None:
    end = place.offset + place.length
    request = ArchivePlace(place.file, end, (tmp_path / place.file).stat().st_size - end)
    with pytest.raises(ArchiveError, match="holds a request record"):
        read_response(tmp_path, request)


def test_a_torn_record_is_refused(tmp_path: Path, place: ArchivePlace) -> None:
    with (tmp_path / place.file).open("r+b") as file:
        file.truncate(place.offset + place.length - 1)
    with pytest.raises(ArchiveError, match="ends in the middle"):
        read_response(tmp_path, place)


def test_a_record_that_inflates_beyond_the_bound_is_refused(tmp_path: Path, place: ArchivePlace) -> None:
    with pytest.raises(ArchiveError, match="more than 5000 bytes"):
        read_response(tmp_path, place, record_bytes_max=5000)


def test_a_member_without_a_record_is_refused(tmp_path: Path) -> None:
    data = gzip.compress(b"hello")
    (tmp_path / "x.warc.gz").write_bytes(data)
    with pytest.raises(ArchiveError, match="not a WARC"):
        read_response(tmp_path, ArchivePlace("x.warc.gz", 0, len(data)))


def test_a_revisit_whose_original_is_gone_says_which_file_is_missing(tmp_path: Path, clock: VirtualClock) -> None:
    writer = ArchiveWriter(tmp_path, "s" * 32, clock, file_bytes_max=1)
    original = writer.append(exchange())
    writer.sync()
    writer.committed()
    place = writer.append(exchange())
    writer.close()
    (tmp_path / original.file).unlink()
    with pytest.raises(ArchiveError, match=original.file):
        read_response(tmp_path, place)


@pytest.mark.parametrize(
    ("head", "status", "headers"),
    [
        (b"HTTP/1.1 404 Not Found\r\nA: b\r\nA:c\r\n\r\n", 404, (("A", "b"), ("A", "c"))),
        (b"HTTP/2 200 \r\na: b\r\n\r\n", 200, (("a", "b"),)),
        (b"HTTP/1.1 200\nA: b\n\n", 200, (("A", "b"),)),
        (b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nC: d\r\n\r\n", 200, (("C", "d"),)),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\ngarbage\r\n\r\n", 200, (("A", "b c"),)),
        (b"HTTP/1.1 OK\r\n\r\n", 0, ()),
        (b"HTTP/1.1\r\n\r\n", 0, ()),
        (b"HTTP/1.1 200 OK\r\nA: \xe9\r\n\r\n", 200, (("A", "é"),)),
        (b"", 0, ()),
    ],
)
def test_heads_are_parsed_forgivingly(head: bytes, status: int, headers: tuple[tuple[str, str], ...]) -> None:
    assert parse_http_head(head) == (status, headers)
