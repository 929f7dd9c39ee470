"""What a fetcher is: one request in, one result out. Whatever the network does is a result, never an exception."""

from dataclasses import dataclass, field
from typing import Protocol

from nephila.fetch.headers import Headers, parse_headers
from nephila.models import Handshake, Reason, Timing
from nephila.profiles import FetchSettings


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
    header_bytes: bytes = b""  # status line, headers, blank line of the final response, as received
    body: bytes = b""  # of the wire: still chunked, still compressed (body.decode_body)
    request_bytes: bytes = b""  # the request head as sent
    ip: str | None = None  # that we connected to, or tried to; None behind a proxy
    timing: Timing = field(default_factory=Timing)
    truncated: str | None = None  # length | time | disconnect
    error: Reason = Reason.NONE
    detail: str = ""
    aborted: bool = False  # by Fetcher.abort or close, or for what is `lacking`: it says nothing about the host
    lacking: str = ""  # what this machine had too little of to send the request
    handshake: Handshake = Handshake.NONE
    parsed: Headers | None = field(default=None, repr=False, compare=False)

    def headers(self) -> Headers:
        if self.parsed is None:
            self.parsed = parse_headers(self.header_bytes)
        return self.parsed

    def header(self, name: str) -> str | None:
        """The first value of a header, whose name is given in lower case."""
        return self.headers().first(name)


class Fetcher(Protocol):
    """Sends requests of all crawls of a worker; how many at once is the caller's decision."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """Ask once. Redirects are not followed, cookies are not kept, bodies are not decoded."""
        ...

    def body_bytes(self) -> int:
        """What has come of the bodies in flight."""
        ...

    def abort(self) -> None:
        """End everything in flight: those results are `aborted`. The next fetch works."""
        ...

    async def close(self) -> None:
        """Abort, and close every connection."""
        ...
