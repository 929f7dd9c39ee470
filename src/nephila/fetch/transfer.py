"""What a transfer of libcurl brought: the head of the final response, and what the transfer's end means. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nephila.models import Reason

ABORTED = -1  # beside libcurl's codes: we ended it ourselves
LATE = -2  # a deadline of ours passed
CURL_TIMEOUT = 28
CURL_HANDSHAKE = 35
CURL_TOO_LARGE = 100  # a header line of more than 100 KB
DETAIL_CHARS_MAX = 300

REASONS: dict[int, Reason] = {
    0: Reason.RESET,  # closed inside the head: libcurl is content with that
    1: Reason.PROTOCOL,  # HTTP/0.9
    3: Reason.PROTOCOL,  # a host name that libcurl refuses
    5: Reason.PROXY,  # its name
    6: Reason.DNS,
    7: Reason.CONNECT,
    8: Reason.PROTOCOL,  # weird reply: no status line, a null byte in a header, two lengths
    16: Reason.PROTOCOL,  # HTTP/2 framing
    **dict.fromkeys((CURL_HANDSHAKE, 51, 53, 54, 58, 59, 60, 66, 77, 80, 83, 90, 91), Reason.TLS),
    CURL_TIMEOUT: Reason.TIMEOUT,
    LATE: Reason.TIMEOUT,
    52: Reason.RESET,  # closed without a byte
    55: Reason.RESET,
    56: Reason.RESET,
    92: Reason.PROTOCOL,  # HTTP/2 stream
    97: Reason.PROXY,
    CURL_TOO_LARGE: Reason.HEADERS_TOO_LONG,
    ABORTED: Reason.RESET,
}
PROTOCOLS = {b"HTTP/1.1": "http/1.1", b"HTTP/1.0": "http/1.0", b"HTTP/2": "h2"}
_status_in = re.compile(rb"(HTTP/[0-9.]+)[ \t]+([0-9]{3})", re.IGNORECASE).match
# libcurl has one code for every end of a handshake: these are the connection's, which may go well the next time
_torn_handshake = re.compile(r"^(Recv|Send) failure|unexpected eof|SSL_ERROR_SYSCALL").search
BLANK = (b"\r\n", b"\n")
PROXY_CODES = frozenset({7, 56})  # before any answer, behind a proxy: it did not connect, or refused to


@dataclass(slots=True)
class Head:
    status: int
    protocol: str
    raw: bytes


@dataclass(slots=True)
class TransferEnd:
    error: Reason = Reason.NONE
    truncated: str | None = None
    detail: str = ""


def final_head(lines: Sequence[bytes]) -> Head | None:
    """The head of the final response among the lines received: 1xx before it and trailers after it are dropped.

    Blank lines before a status line and a tab inside it are read over, as libcurl and browsers do.
    """
    start = 0
    for end in _blank_lines(lines):
        found = _status_in(lines[start])
        if found is not None:
            version, status = found[1], int(found[2])
            if status >= 200 or status == 101:
                return Head(status, PROTOCOLS.get(version, "http/1.1"), b"".join(lines[start : end + 1]))
        elif end > start:
            return None  # no response of HTTP, though libcurl let it pass
        start = end + 1
    return None


def _blank_lines(lines: Sequence[bytes]) -> list[int]:
    """Where heads end. Three calls in C for all but odd servers: libcurl gives line by line."""
    if lines and lines[-1] == b"\r\n" and lines.count(b"\r\n") == 1 and b"\n" not in lines:
        return [len(lines) - 1]
    return [index for index, line in enumerate(lines) if line in BLANK]


def judge(
    code: int, text: str, *, head: Head | None, cut: bool, refused: str, too_long: bool, proxied: bool
) -> TransferEnd:
    """Read libcurl's code and error text together with what we saw of the response until then."""
    if code == ABORTED:
        return TransferEnd(Reason.RESET, None, text)
    if too_long or code == CURL_TOO_LARGE or text.startswith("Too large response header"):
        return TransferEnd(Reason.HEADERS_TOO_LONG, None, text or "response headers are too long")
    if head is not None:
        return TransferEnd(Reason.NONE, _truncation(code, cut), text)
    if refused and proxied:
        return TransferEnd(Reason.PROXY, None, f"the proxy: {refused}; the worker runs without --allow-private")
    if refused:
        return TransferEnd(Reason.PRIVATE_ADDRESS, None, refused)
    if proxied and code in PROXY_CODES:
        return TransferEnd(Reason.PROXY, None, text)
    if code == CURL_HANDSHAKE and _torn_handshake(text):
        return TransferEnd(Reason.RESET, None, text)
    return TransferEnd(REASONS.get(code, Reason.PROTOCOL), None, text or "closed inside the response head")


def _truncation(code: int, cut: bool) -> str | None:
    if cut:
        return "length"
    if code == 0:
        return None
    return "time" if code in (CURL_TIMEOUT, LATE) else "disconnect"


def one_line(text: str) -> str:
    return " ".join(text.split())[:DETAIL_CHARS_MAX]
