import pytest

from nephila.fetch.transfer import ABORTED, LATE, Head, TransferEnd, final_head, judge, one_line
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
        ([b"HTTP/1.1 100 C\n", b"\n", b"HTTP/1.1 200 OK\r\n", b"\r\n"], 200, "http/1.1", HEAD.raw),
        # odd, and read by libcurl
        ([b"HTTP/1.1\t200\tOK\r\n", b"\r\n"], 200, "http/1.1", b"HTTP/1.1\t200\tOK\r\n\r\n"),
        ([b"http/1.1 200 OK\r\n", b"\r\n"], 200, "http/1.1", b"http/1.1 200 OK\r\n\r\n"),
        ([b"\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"\r\n"], 200, "http/1.1", HEAD.raw),
        ([b"HTTP/1.1 100 C\r\n", b"\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"\r\n"], 200, "http/1.1", HEAD.raw),
    ],
)
def test_final_head(lines: list[bytes], status: int, protocol: str, raw: bytes) -> None:
    assert final_head(lines) == Head(status, protocol, raw)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"\r\n"],
        [b"what?\r\n", b"\r\n"],
        [b"HTTP/1.1 200 OK\r\n"],
        [b"HTTP/1.1 100 C\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n"],
    ],
)
def test_no_final_head_yet(lines: list[bytes]) -> None:
    assert final_head(lines) is None


@pytest.mark.parametrize(
    ("code", "seen", "verdict"),
    [
        (0, {"head": HEAD}, TransferEnd()),
        (23, {"head": HEAD, "cut": True}, TransferEnd(truncated="length")),
        (28, {"head": HEAD}, TransferEnd(truncated="time")),
        (LATE, {"head": HEAD}, TransferEnd(truncated="time")),
        (18, {"head": HEAD}, TransferEnd(truncated="disconnect")),
        (56, {"head": HEAD}, TransferEnd(truncated="disconnect")),
        (92, {"head": HEAD}, TransferEnd(truncated="disconnect")),
        (ABORTED, {"head": HEAD}, TransferEnd(Reason.RESET)),
        (0, {"head": HEAD, "too_long": True}, TransferEnd(Reason.HEADERS_TOO_LONG)),
        (100, {}, TransferEnd(Reason.HEADERS_TOO_LONG)),
        (0, {}, TransferEnd(Reason.RESET)),
        (1, {}, TransferEnd(Reason.PROTOCOL)),
        (6, {}, TransferEnd(Reason.DNS)),
        (7, {}, TransferEnd(Reason.CONNECT)),
        (7, {"refused": "127.0.0.1 is loopback"}, TransferEnd(Reason.PRIVATE_ADDRESS)),
        (7, {"proxied": True}, TransferEnd(Reason.PROXY)),
        (7, {"refused": "127.0.0.1 is loopback", "proxied": True}, TransferEnd(Reason.PROXY)),
        (56, {"proxied": True}, TransferEnd(Reason.PROXY)),
        (5, {"proxied": True}, TransferEnd(Reason.PROXY)),
        (28, {"proxied": True}, TransferEnd(Reason.TIMEOUT)),
        (LATE, {}, TransferEnd(Reason.TIMEOUT)),
        (35, {}, TransferEnd(Reason.TLS)),
        (60, {}, TransferEnd(Reason.TLS)),
        (52, {}, TransferEnd(Reason.RESET)),
        (56, {}, TransferEnd(Reason.RESET)),
        (16, {}, TransferEnd(Reason.PROTOCOL)),
        (99, {}, TransferEnd(Reason.PROTOCOL)),
    ],
)
def test_verdicts(code: int, seen: dict[str, object], verdict: TransferEnd) -> None:
    facts = {"head": None, "cut": False, "refused": "", "too_long": False, "proxied": False} | seen
    judged = judge(code, "", **facts)  # type: ignore[arg-type]
    assert (judged.error, judged.truncated) == (verdict.error, verdict.truncated)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Recv failure: Connection reset by peer", Reason.RESET),
        ("Send failure: Broken pipe", Reason.RESET),
        ("TLS connect error: error:0A000126:SSL routines::unexpected eof while reading", Reason.RESET),
        ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a.test:443", Reason.RESET),
        ("TLS connect error: error:0A00010B:SSL routines::wrong version number", Reason.TLS),
    ],
)
def test_a_connection_that_breaks_in_its_handshake_is_no_fault_of_tls(text: str, reason: Reason) -> None:
    facts = {"head": None, "cut": False, "refused": "", "too_long": False, "proxied": False}
    assert judge(35, text, **facts).error is reason  # type: ignore[arg-type]


def test_a_detail_is_one_short_line() -> None:
    assert one_line("a\n b\t c" + "x" * 999).startswith("a b cxxx")
    assert len(one_line("x" * 999)) == 300
