"""One request and what came of it: the records, and the pure reading of response heads and of libcurl's verdicts."""

from dataclasses import dataclass, field

from nephila.models import Reason, Timing
from nephila.profiles import FetchSettings

ABORTED = -1  # beside libcurl's codes: we ended it ourselves
LATE = -2  # a deadline of ours passed
CURL_TIMEOUT = 28
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
    **dict.fromkeys((35, 51, 53, 54, 58, 59, 60, 66, 77, 80, 83, 90, 91), Reason.TLS),
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
PROXY_CODES = frozenset({7, 56})  # before any answer, behind a proxy: it did not connect, or refused to


@dataclass(slots=True)
class FetchRequest:
    url: str
    settings: FetchSettings
    user_agent: str
    total_timeout_ms: int | None = None  # None: as the settings say
    body_bytes_max: int | None = None
    headers: tuple[tuple[str, str], ...] = ()  # after the crawl's own


@dataclass(slots=True)
class FetchResult:
    url: str
    started_at: int  # ms since 1970
    status: int | None = None
    protocol: str = ""  # http/1.0 | http/1.1 | h2
    header_bytes: bytes = b""  # status line, headers, blank line of the final response, as libcurl received them
    body: bytes = b""  # of the wire: still chunked, still compressed (body.decode_body)
    request_bytes: bytes = b""  # the request head as sent
    ip: str | None = None  # that we connected to, or tried to; None behind a proxy
    timing: Timing = field(default_factory=Timing)
    truncated: str | None = None  # length | time | disconnect
    error: Reason = Reason.NONE
    detail: str = ""
    parsed: list[tuple[str, str]] | None = field(default=None, repr=False, compare=False)
    by_name: dict[str, str] | None = field(default=None, repr=False, compare=False)

    def headers(self) -> list[tuple[str, str]]:
        if self.parsed is None:
            self.parsed = parse_headers(self.header_bytes)
        return self.parsed

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        if self.by_name is None:
            self.by_name = {key.lower(): value for key, value in reversed(self.headers())}
        return self.by_name.get(name.lower())


@dataclass(slots=True)
class Head:
    status: int
    protocol: str
    raw: bytes


@dataclass(slots=True)
class Verdict:
    error: Reason = Reason.NONE
    truncated: str | None = None
    detail: str = ""


def parse_headers(header_bytes: bytes) -> list[tuple[str, str]]:
    """Names and values in their order; lines without a colon are passed over."""
    pairs = []
    for line in header_bytes.decode("latin-1").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            pairs.append((name.strip(), value.strip()))
    return pairs


def final_head(lines: list[bytes]) -> Head | None:
    """The head of the final response among the lines received: 1xx before it and trailers after it are dropped."""
    start = 0
    while (end := _blank_line(lines, start)) >= 0:
        version, _, rest = lines[start].partition(b" ")
        status = int(rest[:3])
        if status >= 200 or status == 101:
            return Head(status, PROTOCOLS.get(version, "http/1.1"), b"".join(lines[start : end + 1]))
        start = end + 1
    return None


def _blank_line(lines: list[bytes], start: int) -> int:
    """libcurl gives each line its own bytes, so a look for the end is one call in C for all but odd servers."""
    for blank in (b"\r\n", b"\n"):
        try:
            return lines.index(blank, start)
        except ValueError:
            continue
    return -1


def judge(
    code: int, text: str, *, head: Head | None, cut: bool, refused: str, too_long: bool, proxied: bool
) -> Verdict:
    """What a transfer's end means: libcurl's code, and what we saw of the response until then."""
    if code == ABORTED:
        return Verdict(Reason.RESET, None, text)
    if too_long or code == CURL_TOO_LARGE or text.startswith("Too large response header"):
        return Verdict(Reason.HEADERS_TOO_LONG, None, text or "response headers are too long")
    if head is not None:
        return Verdict(Reason.NONE, _truncation(code, cut), text)
    if refused:
        return Verdict(Reason.PRIVATE_ADDRESS, None, refused)
    if proxied and code in PROXY_CODES:
        return Verdict(Reason.PROXY, None, text)
    return Verdict(REASONS.get(code, Reason.PROTOCOL), None, text or "closed inside the response head")


def _truncation(code: int, cut: bool) -> str | None:
    if cut:
        return "length"
    if code == 0:
        return None
    return "time" if code in (CURL_TIMEOUT, LATE) else "disconnect"


def one_line(text: str) -> str:
    return " ".join(text.split())[:DETAIL_CHARS_MAX]
