from nephila.fetch.headers import Headers, parse_headers

HEAD = b"HTTP/1.1 200 OK: fine\r\nA: 1\r\na:2 \r\nno colon\r\n: empty\r\nU: \xe9\xff\r\nB:c:d\nX:\r\n\r\n"


def test_headers_are_read_whatever_they_are() -> None:
    found = [("A", "1"), ("a", "2"), ("", "empty"), ("U", "éÿ"), ("B", "c:d"), ("X", "")]
    assert parse_headers(HEAD).pairs == found
    assert parse_headers(b"").pairs == parse_headers(b"HTTP/1.1 200 OK: fine").pairs == []


def test_a_header_is_found_in_any_case() -> None:
    headers = parse_headers(HEAD)
    assert (headers.first("a"), headers.first("b"), headers.first("none")) == ("1", "c:d", None)
    assert (headers.all("a"), headers.all("none")) == (["1", "2"], [])
    assert Headers((("Retry-AFTER", "3"),)).all("retry-after") == ["3"]
