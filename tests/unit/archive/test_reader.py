import pytest

from nephila.archive.reader import parse_http_head


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
