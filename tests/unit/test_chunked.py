import pytest

from nephila.chunked import CHUNKS_MAX, Dechunked, dechunk


@pytest.mark.parametrize(
    ("wire", "body", "problem"),
    [
        (b"2\r\nhi\r\n0\r\n\r\n", b"hi", ""),
        (b"2\nhi\n0\n\n", b"hi", ""),
        (b" 2 ;x=y\r\nhi\r\n000\r\n", b"hi", ""),
        (b"0\r\n\r\n", b"", ""),
        (b"", b"", "chunked: cut short"),
        (b"2\r\nhi\r\n", b"hi", "chunked: cut short"),
        (b"9\r\nhi", b"hi", "chunked: cut short"),
        (b"ffffffffffffffff\r\nhi", b"hi", "chunked: cut short"),
        (b"2\r\nhi\r\n-4\r\nmore", b"hi", "chunked: no size line"),
        (b"2\r\nhi\r\n\r\n", b"hi", "chunked: no size line"),
        (b"<html>plain</html>\n", b"<html>plain</html>\n", "chunked: not chunked"),
        (b"0x2\r\nhi", b"0x2\r\nhi", "chunked: not chunked"),
        (b"11111111111111111\r\nhi", b"11111111111111111\r\nhi", "chunked: not chunked"),
    ],
)
def test_dechunk(wire: bytes, body: bytes, problem: str) -> None:
    assert dechunk(wire) == Dechunked(body, problem, short=bool(problem) and not problem.endswith("not chunked"))


def test_chunks_are_bounded() -> None:
    decoded = dechunk(b"1\r\nx\r\n" * (CHUNKS_MAX + 5))
    assert (len(decoded.body), decoded.problem) == (CHUNKS_MAX, "chunked: too many chunks")
