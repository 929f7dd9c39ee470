import pytest

from nephila.fetch.exchange import ABORTED, LATE, FetchResult, Head, Verdict, final_head, judge, one_line
from nephila.models import Reason

HEAD = Head(200, "http/1.1", b"HTTP/1.1 200 OK\r\n\r\n")


@pytest.mark.parametrize(
    ("lines", "status", "protocol", "raw"),
    [
        ([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n"], 200, "http/1.1", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        ([b"HTTP/1.0 404\r\n", b"\r\n"], 404, "http/1.0", b"HTTP/1.0 404\r\n\r\n"),
        ([b"HTTP/1.1 200 OK\n", b"\n"], 200, "http/1.1", b"HTTP/1.1 200 OK\n\n"),
        ([b"HTTP/2 204 \r\n", b"a: b\r\n", b"\r\n", b"trailer: x\r\n"], 204, "h2", b"HTTP/2 204 \r\na: b\r\n\r\n"),
        ([b"HTTP/1.1 100 C\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"\r\n"], 200, "http/1.1", HEAD.raw),
        ([b"HTTP/1.1 101 Sw\r\n", b"\r\n"], 101, "http/1.1", b"HTTP/1.1 101 Sw\r\n\r\n"),
    ],
)
def test_final_head(lines: list[bytes], status: int, protocol: str, raw: bytes) -> None:
    assert final_head(lines) == Head(status, protocol, raw)


@pytest.mark.parametrize(
    "lines", [[], [b"HTTP/1.1 200 OK\r\n"], [b"HTTP/1.1 100 C\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n"]]
)
def test_no_final_head_yet(lines: list[bytes]) -> None:
    assert final_head(lines) is None


@pytest.mark.parametrize(
    ("code", "seen", "verdict"),
    [
        (0, {"head": HEAD}, Verdict()),
        (23, {"head": HEAD, "cut": True}, Verdict(truncated="length")),
        (28, {"head": HEAD}, Verdict(truncated="time")),
        (LATE, {"head": HEAD}, Verdict(truncated="time")),
        (18, {"head": HEAD}, Verdict(truncated="disconnect")),
        (56, {"head": HEAD}, Verdict(truncated="disconnect")),
        (92, {"head": HEAD}, Verdict(truncated="disconnect")),
        (ABORTED, {"head": HEAD}, Verdict(Reason.RESET)),
        (0, {"head": HEAD, "too_long": True}, Verdict(Reason.HEADERS_TOO_LONG)),
        (100, {}, Verdict(Reason.HEADERS_TOO_LONG)),
        (0, {}, Verdict(Reason.RESET)),
        (1, {}, Verdict(Reason.PROTOCOL)),
        (6, {}, Verdict(Reason.DNS)),
        (7, {}, Verdict(Reason.CONNECT)),
        (7, {"refused": "127.0.0.1 is loopback"}, Verdict(Reason.PRIVATE_ADDRESS)),
        (7, {"proxied": True}, Verdict(Reason.PROXY)),
        (56, {"proxied": True}, Verdict(Reason.PROXY)),
        (5, {"proxied": True}, Verdict(Reason.PROXY)),
        (28, {"proxied": True}, Verdict(Reason.TIMEOUT)),
        (LATE, {}, Verdict(Reason.TIMEOUT)),
        (35, {}, Verdict(Reason.TLS)),
        (60, {}, Verdict(Reason.TLS)),
        (52, {}, Verdict(Reason.RESET)),
        (56, {}, Verdict(Reason.RESET)),
        (16, {}, Verdict(Reason.PROTOCOL)),
        (99, {}, Verdict(Reason.PROTOCOL)),
    ],
)
def test_verdicts(code: int, seen: dict[str, object], verdict: Verdict) -> None:
    facts = {"head": None, "cut": False, "refused": "", "too_long": False, "proxied": False} | seen
    judged = judge(code, "", **facts)  # type: ignore[arg-type]
    assert (judged.error, judged.truncated) == (verdict.error, verdict.truncated)


def test_headers_are_read_whatever_they_are() -> None:
    raw = b"HTTP/1.1 200 OK\r\nA: 1\r\na:2 \r\nno colon\r\n: empty\r\nU: \xe9\xff\r\nB:c:d\nX:\r\n\r\n"
    result = FetchResult("u", 0, header_bytes=raw)
    assert result.headers() == [("A", "1"), ("a", "2"), ("", "empty"), ("U", "éÿ"), ("B", "c:d"), ("X", "")]
    assert (result.header("A"), result.header("b"), result.header("none")) == ("1", "c:d", None)
    assert FetchResult("u", 0).headers() == []


def test_a_detail_is_one_short_line() -> None:
    assert one_line("a\n b\t c" + "x" * 999).startswith("a b cxxx")
    assert len(one_line("x" * 999)) == 300
