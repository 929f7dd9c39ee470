"""The test web: one HTTP/1.1 server in a thread; every 127.a.b.c and every name that resolves there is a host."""

import asyncio
import itertools
import json
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self, cast

import uvloop

from tests.patience import PATIENCE_SECONDS

# T-05: crawlers in containers reach the test web by another name than the loopback address.
DEFAULT_HOST = os.environ.get("E2E_FIXTURE_HOST", "127.0.0.1")

HEAD_BYTES_MAX = 65_536
BACKLOG = 1024
HITS_MAX = 1_000_000
TURNS = 5  # of the loop: accept, read, and some to spare
SETTLE_HOST = "settle.test"  # never logged: see WebProcess.hits
HTML = "text/html; charset=utf-8"

REASONS = {200: "OK", 301: "Moved Permanently", 302: "Found", 404: "Not Found", 500: "Internal Server Error"}


@dataclass(frozen=True, slots=True)
class Drip:
    """A body that arrives `piece_bytes` at a time."""

    piece_bytes: int
    every_ms: float


@dataclass(frozen=True, slots=True)
class Page:
    """What the server answers."""

    body: bytes = b""
    status: int = 200
    content_type: str | None = HTML
    headers: tuple[tuple[str, str], ...] = ()
    delay_ms: float = 0  # before the head
    drip: Drip | None = None
    chunked: bool = False
    close_mid_body: bool = False  # half of the body, then the end of the connection
    raw: bytes | None = None  # these bytes instead of any HTTP, then the end of the connection


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    host: str  # without port, lower case
    path: str  # with query, as on the wire
    headers: Mapping[str, str]  # names in lower case
    nth: int  # how often this host and path were asked for before


Handler = Callable[[Request], Page]
Site = Mapping[str, Page | Handler]  # by path with query
Sites = Mapping[str, Site]  # by host

NOT_FOUND = Page(b"<title>not here</title>", status=404)


@dataclass(frozen=True, slots=True)
class Hit:
    """One request as the server saw it; seconds of time.monotonic, which on Linux is one clock for all processes."""

    host: str
    path: str
    started: float  # its request line was complete
    ended: float  # its last byte was handed to the socket, or the client was gone; inf: not yet
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    connection: int = 0
    complete: bool = True  # False: the client left before the last byte


def head_of(page: Page) -> bytes:
    lines = [f"HTTP/1.1 {page.status} {REASONS.get(page.status, 'Whatever')}"]
    if page.content_type is not None:
        lines.append(f"Content-Type: {page.content_type}")
    lines += [f"{name}: {value}" for name, value in page.headers]
    if page.chunked:
        lines.append("Transfer-Encoding: chunked")
    elif page.status not in (204, 304):
        lines.append(f"Content-Length: {len(page.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def body_pieces(page: Page) -> list[bytes]:
    """The body in the pieces it is written in, framed; the last one ends the response unless the page breaks off."""
    body = page.body[: len(page.body) // 2] if page.close_mid_body else page.body
    step = page.drip.piece_bytes if page.drip else max(1, len(body))
    pieces = [body[at : at + step] for at in range(0, len(body), step)]
    if page.chunked:
        pieces = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
        if not page.close_mid_body:
            pieces.append(b"0\r\n\r\n")
    return pieces


def wire_pieces(page: Page, *, head_only: bool) -> list[bytes]:
    """The writes of a whole response; more than one only where it drips."""
    if page.raw is not None:
        return [page.raw]
    pieces = [head_of(page)]
    if not head_only and page.status not in (204, 304):
        pieces += body_pieces(page)
    return pieces if page.drip else [b"".join(pieces)]


def parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Method, target and headers. The only clients here are ours and urllib, so no leniency."""
    first, *rest = head.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    headers = {}
    for line in rest:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return method, target, headers


class Connection(asyncio.Protocol):
    """One client connection: requests are answered one after the other, in order."""

    def __init__(self, web: "TestWeb", number: int) -> None:
        self.web = web
        self.number = number
        self.buffer = b""
        self.started: float | None = None  # of the request that is being received or answered
        self.request: Request | None = None  # being answered
        self.status = 0
        self.pieces: deque[bytes] = deque()
        self.delay_seconds = self.pause_seconds = 0.0
        self.close_after = False
        self.blocked = False  # bytes wait in user space for the socket to take them
        self.last_written = False
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        # With no user-space buffer, pause_writing tells exactly whether the kernel has taken every byte.
        self.transport.set_write_buffer_limits(high=0)
        self.web.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.request is None:
            self._receive()

    def _receive(self) -> None:
        if self.started is None and b"\r\n" in self.buffer:
            self.started = time.monotonic()
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if end:
            self.buffer = rest
            self._answer(head)
        elif len(self.buffer) > HEAD_BYTES_MAX:
            self.transport.abort()

    def _answer(self, head: bytes) -> None:
        method, target, headers = parse_head(head)
        self.request, page = self.web.respond(method, target, headers)
        self.status = page.status
        self.web.begun(self)
        self.pieces.extend(wire_pieces(page, head_only=method == "HEAD"))
        self.pause_seconds = page.drip.every_ms / 1000 if page.drip else 0.0
        self.close_after = page.close_mid_body or page.raw is not None or headers.get("connection") == "close"
        self.delay_seconds = page.delay_ms / 1000
        if not self.web.keeps(self):
            self.write()

    def write(self) -> None:
        if self.delay_seconds:
            self._later(self.delay_seconds)
        else:
            self._write_piece()

    def _later(self, seconds: float) -> None:
        self.timer = asyncio.get_running_loop().call_later(seconds, self._write_piece)

    def _write_piece(self) -> None:
        piece = self.pieces.popleft()
        if self.pieces:
            self.transport.write(piece)
            self._later(self.pause_seconds)
            return
        # Stamped before the write: no client can have the last byte earlier, so a gap that the server measures is never
        # shorter than the one that the client kept, however late this thread gets the interpreter back.
        ended = time.monotonic()
        self.last_written = True
        self.transport.write(piece)
        if not self.blocked:
            self._finish(ended)

    def pause_writing(self) -> None:
        self.blocked = True

    def resume_writing(self) -> None:
        self.blocked = False
        if self.last_written:
            self._finish(time.monotonic())

    def _finish(self, ended: float) -> None:
        self._record(ended, complete=True)
        if self.close_after:
            self.transport.close()
        elif self.buffer:
            self._receive()

    def _record(self, ended: float, *, complete: bool) -> None:
        self.web.ended(self, self.hit(ended, complete=complete))
        self.started, self.request, self.last_written = None, None, False

    def hit(self, ended: float, *, complete: bool) -> Hit:
        request, started = self.request, self.started
        assert request is not None and started is not None, "only an answered request is a hit"
        return Hit(request.host, request.path, started, ended, self.status, request.headers, self.number, complete)

    def connection_lost(self, exc: Exception | None) -> None:
        self.web.connections.discard(self)
        if self.timer is not None:
            self.timer.cancel()
        if self.request is not None:
            self._record(time.monotonic(), complete=False)


class TestWeb:
    """`with TestWeb() as web: web.add(sites)`. It runs in a thread of its own; its methods may be called from any."""

    __test__ = False  # its name, not a test

    def __init__(self, sites: Sites | None = None, *, port: int = 0, log: Path | None = None) -> None:
        self.sites: dict[str, dict[str, Page | Handler]] = {}
        self.add(sites or {})
        self.socket = _listen(port)
        self.port: int = self.socket.getsockname()[1]
        self.connections: set[Connection] = set()  # only the loop's thread, like the next two
        self._allowed = math.inf  # answers that may be given before the others are kept
        self._kept: deque[Connection] = deque()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()  # guards the three below
        self._hits: list[Hit] = []
        self._open: set[Connection] = set()  # with a request that is being answered
        self._asked: dict[tuple[str, str], int] = {}
        self._log_path = log
        self._log: IO[str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="test-web", daemon=True)
        self._thread.start()
        assert ready.wait(PATIENCE_SECONDS), "the test web did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop = None

    def serve_until_killed(self) -> None:
        """Serve for ever in this process, the port on standard output: what `python -m tests.site` does."""
        print(self.port, flush=True)
        self._run(threading.Event())

    def add(self, sites: Sites) -> None:
        for host, pages in sites.items():
            self.sites.setdefault(host, {}).update(pages)

    def url(self, path: str = "/", host: str = DEFAULT_HOST) -> str:
        return f"http://{host}:{self.port}{path}"

    def hits(self) -> list[Hit]:
        """Every request so far, by start; those still in flight end at infinity."""
        self._settle()
        with self._lock:
            found = [*self._hits, *(connection.hit(math.inf, complete=False) for connection in self._open)]
        return sorted(found, key=lambda hit: hit.started)

    def clear(self) -> None:
        """Forget all requests so far."""
        with self._lock:
            self._hits.clear()
            self._asked.clear()

    def hold(self, after: int = 0) -> None:
        """Answer `after` more requests and let all others wait, until the next `hold` or `go_on`.

        So a crawl cannot be over before the test has done to it what it wants to do, however late that comes.
        """
        self._in_loop(lambda: self._allow(after))

    def go_on(self) -> None:
        self._in_loop(lambda: self._allow(math.inf))

    @property
    def holding(self) -> bool:
        """Whether all the answers that `hold` allows are given."""
        return self._allowed == 0

    def keeps(self, connection: Connection) -> bool:
        """Whether the answer must wait."""
        if self._allowed == 0:
            self._kept.append(connection)
            return True
        self._allowed -= 1
        return False

    def _allow(self, count: float) -> None:
        self._allowed = count
        while self._kept and self._allowed:
            connection = self._kept.popleft()
            if connection.request is not None:  # else its client is gone
                self._allowed -= 1
                connection.write()

    def settle(self) -> None:
        """Take in all that clients have sent so far, also by connections that are not accepted yet."""
        for _ in range(TURNS):
            self._settle()

    def _settle(self) -> None:
        """Let the loop finish its turn: a client may have its last byte before the request is in the log."""
        self._in_loop(lambda: None)

    def _in_loop(self, work: Callable[[], object]) -> None:
        """Do it in the loop's thread, and wait until it is done."""
        if self._loop is None or threading.current_thread() is self._thread:
            work()
            return
        turned = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (work(), turned.set()))
        assert turned.wait(PATIENCE_SECONDS), "the test web hangs"

    def respond(self, method: str, target: str, headers: Mapping[str, str]) -> tuple[Request, Page]:
        host = headers.get("host", "").partition(":")[0].lower()
        with self._lock:
            nth = self._asked.get((host, target), 0)
            self._asked[host, target] = nth + 1
        request = Request(method, host, target, headers, nth)
        found = self.sites.get(host, {}).get(target, NOT_FOUND)
        return request, found if isinstance(found, Page) else found(request)

    def begun(self, connection: Connection) -> None:
        with self._lock:
            self._open.add(connection)

    def ended(self, connection: Connection, hit: Hit) -> None:
        with self._lock:
            self._open.remove(connection)
            assert len(self._hits) < HITS_MAX, "a test that asks this often wants another log"
            self._hits.append(hit)
        if self._log is not None and hit.host != SETTLE_HOST:
            self._log.write(json.dumps({name: getattr(hit, name) for name in Hit.__slots__}) + "\n")

    def _run(self, ready: threading.Event) -> None:
        loop = uvloop.new_event_loop()
        self._loop = loop
        if self._log_path is not None:
            self._log = self._log_path.open("a", buffering=1)
        server = loop.run_until_complete(loop.create_server(self._connect, sock=self.socket, backlog=BACKLOG))
        ready.set()
        try:
            loop.run_forever()
        finally:
            self._shut(loop, server)

    def _connect(self) -> Connection:
        return Connection(self, next(self._numbers))

    def _shut(self, loop: asyncio.AbstractEventLoop, server: asyncio.AbstractServer) -> None:
        server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        loop.run_until_complete(server.wait_closed())
        loop.close()
        if self._log is not None:
            self._log.close()


def _listen(port: int) -> socket.socket:
    # 0.0.0.0 because a socket bound to 127.0.0.1 does not answer for 127.0.0.2 (and T-05 wants it).
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(BACKLOG)
    return listener


def read_hits(log: Path) -> list[Hit]:
    """The log of a test web in another process, without a last line that is still being written."""
    lines = log.read_text().split("\n")[:-1]
    return sorted((Hit(**json.loads(line)) for line in lines), key=lambda hit: hit.started)
