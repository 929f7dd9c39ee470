import pytest

from nephila.archive.record import (
    HEAD_BYTES_PARSED_MAX,
    encode_record,
    field_value,
    head_is_regular,
    new_record_id,
    parse_record,
    warc_date,
)
from nephila.errors import ArchiveError


@pytest.mark.parametrize(
    ("head", "regular"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/2 200 \r\na: b\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nA: \xff\xe9\r\n\r\n", True),
        (b"", False),
        (b"\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", False),
        (b"HTTP/1.1 200 OK\nA: b\n\n", False),
        (b"HTTP/1.1 200 OK\nA: b\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n \r\nA: b\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\n\xc2\xa0\r\nA: b\r\n\r\n", False),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * HEAD_BYTES_PARSED_MAX + b"\r\n\r\n", False),
    ],
)
def test_a_head_is_regular_where_every_reader_ends_it_at_the_same_byte(head: bytes, regular: bool) -> None:
    assert head_is_regular(head) is regular


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("http://example.org/a?b=%20c", "http://example.org/a?b=%20c"),
        ("http://example.org/a\r\nWARC-Type: evil", "http://example.org/a%0D%0AWARC-Type:%20evil"),
        ("http://example.org/ä", "http://example.org/%C3%A4"),
        ("http://example.org/\udcff", "http://example.org/%ED%B3%BF"),
        ("a\x00b", "a%00b"),
    ],
)
def test_no_value_can_break_a_header_line(text: str, value: str) -> None:
    assert field_value(text) == value


def test_dates_are_utc_with_milliseconds() -> None:
    assert warc_date(1_700_000_000_007) == "2023-11-14T22:13:20.007Z"


def test_record_ids_are_random_uuids() -> None:
    ids = {new_record_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(name) == 47 and name[24] == "4" for name in ids)


def test_what_was_encoded_is_parsed_again() -> None:
    record = parse_record(encode_record("WARC-Type: response\r\nA: b:c\r\n", b"one", b"two"))
    assert record.fields == {"warc-type": "response", "a": "b:c", "content-length": "6"}
    assert record.block == b"onetwo"


@pytest.mark.parametrize("data", [b"", b"WARC/1.1\r\n", b"HTTP/1.1 200 OK\r\n\r\n", encode_record("", b"abc")[:-1]])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveError):
        parse_record(data)
