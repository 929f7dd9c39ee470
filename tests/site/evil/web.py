"""The evil web: hosts that do what no proper server does, byte by byte, as one table with the outcome of each.

Every case is a host of its own, `<case>.evil.test`, at its own address of loopback; one listener serves them all.
"""

import asyncio
import gzip
import itertools
import json
import socket
import ssl
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import brotli
import zstandard

from nephila.models import Reason, UrlState
from tests.site.evil.certificates import make_certificates

DOMAIN = "evil.test"
DRIP_SECONDS = 0.2
BLOCK = b"x" * 65_536
BODY_BYTES_MAX = 1_000_000  # of the crawls, so that little is much
BOMB_BYTES = 50_000_000
HURRIED_MS = 6000  # the deadlines of what has no other end
ROBOTS = "/robots.txt"

VISITED, REDIRECTED, FAILED, EXCLUDED = UrlState.VISITED, UrlState.REDIRECTED, UrlState.FAILED, UrlState.EXCLUDED


@dataclass(slots=True)
class Connection:
    """One connection to a case; what it sends is counted."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sent: Counter[str]
    case: str

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        self.sent[self.case] += len(data)
        await self.writer.drain()

    async def drip(self, data: bytes, then: bytes = b"x") -> None:
        """One byte at a time, for ever: the data, then the same again and again."""
        for byte in itertools.chain(data, itertools.cycle(then)):
            await self.send(bytes((byte,)))
            await asyncio.sleep(DRIP_SECONDS)

    async def flood(self, head: bytes, block: bytes = BLOCK) -> None:
        await self.send(head)
        while True:
            await self.send(block)

    async def wait(self) -> None:
        """Until the client closes."""
        await self.reader.read()

    def reset(self) -> None:
        found = self.writer.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Serve = Callable[[Connection, str], Awaitable[None]]  # with the path that was asked for


@dataclass(frozen=True, slots=True)
class Evil:
    serve: Serve
    state: UrlState
    reason: Reason = Reason.NONE
    truncated: str | None = None
    requests: int | None = 1  # of pages; None: none arrives as one, or not counted
    robots: Serve | None = None
    tls: str = ""  # the certificate, or what happens in place of a handshake
    hurried: bool = False  # it ends by a deadline: the crawl has short ones
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    def overrides(self) -> dict[str, Any]:
        """The settings of its crawl: deadlines that are far away but for those that it has to meet."""
        deadlines: dict[str, Any] = {}
        if self.hurried:
            names = ["robots.timeout_ms"] if self.robots else ["fetch.total_timeout_ms", "fetch.tls_timeout_ms"]
            deadlines = dict.fromkeys(names, HURRIED_MS)
        # Without its TLS a host has no robots.txt, and so no page.
        robots = {"robots.mode": "ignore"} if self.tls else {}
        return {"fetch.body_bytes_max": BODY_BYTES_MAX, **deadlines, **robots, **self.settings}


def answer(body: bytes = b"", *fields: str, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {size}", *fields, "", "")
    return "\r\n".join(lines).encode("latin-1") + body


HTML = "Content-Type: text/html"
PAGE = b"<!doctype html><title>evil</title><p>hi"
OK_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
NOT_FOUND = answer(status="404 Not Found")


def says(data: bytes) -> Serve:
    """Send these bytes and close."""

    async def serve(connection: Connection, path: str) -> None:
        await connection.send(data)

    return serve


def hangs(data: bytes = b"") -> Serve:
    async def serve(connection: Connection, path: str) -> None:
        await connection.send(data)
        await connection.wait()

    return serve


def resets(data: bytes = b"") -> Serve:
    """Send these bytes, and when the client has had time to read them, RST."""

    async def serve(connection: Connection, path: str) -> None:
        await connection.send(data)
        await asyncio.sleep(DRIP_SECONDS)
        connection.reset()

    return serve


def drips(data: bytes, then: bytes = b"x") -> Serve:
    async def serve(connection: Connection, path: str) -> None:
        await connection.drip(data, then)

    return serve


def floods(head: bytes, block: bytes = BLOCK) -> Serve:
    async def serve(connection: Connection, path: str) -> None:
        await connection.flood(head, block)

    return serve


def moves(to: Callable[[str], str], status: str = "302 Found") -> Serve:
    """A redirect from each path to what `to` makes of it."""

    async def serve(connection: Connection, path: str) -> None:
        await connection.send(answer(b"", f"Location: {to(path)}", status=status))

    return serve


def page(body: bytes, *fields: str) -> Serve:
    return says(answer(body, *(fields or (HTML,))))


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstandard.compress,
}


@cache
def bomb(*codings: str) -> bytes:
    """Much of nothing in little, made when it is first asked for."""
    body = bytes(BOMB_BYTES)
    for coding in codings:
        body = CODERS[coding](body)
    return body


def explodes(*codings: str, field: str = "Content-Encoding") -> Serve:
    async def serve(connection: Connection, path: str) -> None:
        await connection.send(answer(bomb(*codings), HTML, f"{field}: {', '.join(codings)}"))

    return serve


def link_page(bytes_min: int) -> bytes:
    size = len(b'<a href="/l/0000000">x</a>\n')
    return b"".join(b'<a href="/l/%07d">x</a>\n' % number for number in range(bytes_min // size + 1))


async def _links(connection: Connection, path: str) -> None:
    await connection.send(answer(link_page(10_000_000), HTML) if path == "/" else NOT_FOUND)


async def _next_number(connection: Connection, path: str) -> None:
    number = int(path.strip("/") or 0)
    await connection.send(answer(b"", f"Location: /{number + 1}", status="301 Moved"))


LOOSE = page(PAGE)  # a page as it should be, of hosts whose robots.txt is evil
ONE_BYTE_CHUNKS = b"1\r\nx\r\n" * 10_000
TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
LINKS_SETTINGS = {"limits.max_urls": 50, "fetch.body_bytes_max": 16_777_216}

EVIL: dict[str, Evil] = {
    # slow
    "drip-status": Evil(drips(b"HTTP/1.1 200 OK" * 9), FAILED, Reason.TIMEOUT, hurried=True),
    "drip-head": Evil(drips(OK_HEAD + b"A: "), FAILED, Reason.TIMEOUT, hurried=True),
    "drip-body": Evil(
        lambda connection, path: _after(connection, OK_HEAD + b"\r\n", b"<p>"), VISITED, truncated="time", hurried=True
    ),
    "drip-chunks": Evil(
        lambda connection, path: _after(connection, OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        VISITED,
        truncated="time",
        hurried=True,
    ),
    "silent": Evil(hangs(), FAILED, Reason.TIMEOUT, hurried=True),
    "silent-in-head": Evil(hangs(OK_HEAD), FAILED, Reason.TIMEOUT, hurried=True),
    "silent-in-body": Evil(hangs(OK_HEAD + b"\r\n<p>"), VISITED, truncated="time", hurried=True),
    # heads
    "head-without-end": Evil(floods(OK_HEAD, b"X-More: " + b"x" * 1000 + b"\r\n"), FAILED, Reason.HEADERS_TOO_LONG),
    "header-line-without-end": Evil(floods(OK_HEAD + b"X-More: "), FAILED, Reason.HEADERS_TOO_LONG),
    "header-names-without-end": Evil(floods(OK_HEAD, b"A:\r\n" * 1000), FAILED, Reason.HEADERS_TOO_LONG),
    "status-without-end": Evil(floods(b"HTTP/1.1 200 "), FAILED, Reason.HEADERS_TOO_LONG),
    "interim-without-end": Evil(floods(b"", b"HTTP/1.1 100 \r\n\r\n" * 1000), FAILED, Reason.HEADERS_TOO_LONG),
    "interim-without-end-lf": Evil(floods(b"", b"HTTP/1.1 100 \n\n" * 1000), FAILED, Reason.HEADERS_TOO_LONG),
    "nul": Evil(says(OK_HEAD + b"A: \0\r\n\r\nhi"), FAILED, Reason.PROTOCOL),
    "nuls-without-end": Evil(floods(b"", (bytes(99) + b"\n") * 600), FAILED, Reason.PROTOCOL),
    "garbage": Evil(says(bytes(range(256)) * 100), FAILED, Reason.PROTOCOL),
    "garbage-without-end": Evil(floods(b"", bytes(range(255, -1, -1)) * 256), FAILED, Reason.PROTOCOL),
    # lengths
    "length-short": Evil(says(answer(PAGE + b"more", HTML, length=len(PAGE))), VISITED),
    "length-long": Evil(says(answer(PAGE, HTML, length=10_000)), VISITED, truncated="disconnect"),
    "length-twice": Evil(says(answer(PAGE, "Content-Length: 3")), FAILED, Reason.PROTOCOL),
    "length-negative": Evil(says(answer(PAGE, length=-1)), FAILED, Reason.PROTOCOL),
    "length-huge": Evil(floods(answer(length=10**18)), VISITED, truncated="length"),
    "length-beyond": Evil(floods(answer(length=10**30)), VISITED, truncated="length"),
    # streams
    "stream-of-10-gb": Evil(floods(answer(b"", HTML, length=10**10)), VISITED, truncated="length"),
    "stream-without-length": Evil(floods(OK_HEAD + b"\r\n"), VISITED, truncated="length"),
    "chunks-without-end": Evil(
        floods(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + BLOCK + b"\r\n"),
        VISITED,
        truncated="length",
    ),
    "chunks-of-one-byte": Evil(
        floods(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", ONE_BYTE_CHUNKS), VISITED, truncated="length"
    ),
    "chunk-size-without-end": Evil(
        floods(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 65_536), VISITED, truncated="disconnect"
    ),
    "chunk-extension-without-end": Evil(
        floods(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;"), VISITED, truncated="length"
    ),
    "trailers-without-end": Evil(
        floods(OK_HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", b"A: " + b"x" * 1000 + b"\r\n"),
        VISITED,
        truncated="length",
    ),
    # resets; a kept connection that ends without a byte may have been idle for too long: libcurl asks once on a new one
    "reset-at-once": Evil(resets(), FAILED, Reason.RESET, requests=2),
    "reset-in-head": Evil(resets(OK_HEAD), FAILED, Reason.RESET),
    "reset-in-body": Evil(resets(answer(PAGE, HTML, length=10_000)), VISITED, truncated="disconnect"),
    "closed-at-once": Evil(says(b""), FAILED, Reason.RESET, requests=2),
    # TLS
    "tls-well": Evil(LOOSE, VISITED, tls="good"),
    "tls-expired": Evil(LOOSE, FAILED, Reason.TLS, tls="expired", requests=0),
    "tls-wrong-name": Evil(LOOSE, FAILED, Reason.TLS, tls="wrong-name", requests=0),
    "tls-self-signed": Evil(LOOSE, FAILED, Reason.TLS, tls="self-signed", requests=0),
    "tls-unknown-issuer": Evil(LOOSE, FAILED, Reason.TLS, tls="unknown-issuer", requests=0),
    "tls-garbage": Evil(says(bytes(range(256)) * 100), FAILED, Reason.TLS, tls="raw", requests=None),
    "tls-garbage-without-end": Evil(
        floods(b"\x16\x03\x03\x40\x00", BLOCK), FAILED, Reason.TLS, tls="raw", requests=None
    ),
    "tls-plain": Evil(says(answer(PAGE)), FAILED, Reason.TLS, tls="raw", requests=None),
    "tls-alert": Evil(says(TLS_ALERT), FAILED, Reason.TLS, tls="raw", requests=None),
    "tls-closed": Evil(says(b""), FAILED, Reason.RESET, tls="raw", requests=None),
    "tls-reset": Evil(resets(), FAILED, Reason.RESET, tls="raw", requests=None),
    "tls-hangs": Evil(hangs(), FAILED, Reason.TIMEOUT, tls="raw", requests=None, hurried=True),
    "tls-drips": Evil(
        drips(b"\x16\x03\x03\x40\x00", b"\x02"), FAILED, Reason.TIMEOUT, tls="raw", requests=None, hurried=True
    ),
    # bombs
    "bomb-gzip": Evil(explodes("gzip"), VISITED, truncated="length"),
    "bomb-gzip-nested": Evil(explodes(*["gzip"] * 3), VISITED, truncated="length"),
    "bomb-gzip-too-nested": Evil(explodes(*["gzip"] * 10), VISITED),
    "bomb-deflate": Evil(explodes("deflate"), VISITED, truncated="length"),
    "bomb-br": Evil(explodes("br"), VISITED, truncated="length"),
    "bomb-zstd": Evil(explodes("zstd"), VISITED, truncated="length"),
    "bomb-mixed": Evil(explodes("br", "gzip", "zstd"), VISITED, truncated="length"),
    "bomb-transfer": Evil(explodes("gzip", field="Transfer-Encoding"), VISITED, truncated="length"),
    # redirects
    "redirect-to-itself": Evil(moves(lambda path: path), REDIRECTED, Reason.REDIRECT_LOOP),
    "redirect-loop": Evil(moves(lambda path: "/b" if path != "/b" else "/"), REDIRECTED, requests=2),
    "redirect-without-end": Evil(_next_number, REDIRECTED, requests=6),  # the seed, and max_hops
    "redirect-nowhere": Evil(says(answer(status="302 Found")), REDIRECTED, Reason.REDIRECT_INVALID),
    "redirect-to-a-file": Evil(moves(lambda path: "file:///etc/passwd"), REDIRECTED, Reason.REDIRECT_INVALID),
    "redirect-to-a-script": Evil(moves(lambda path: "javascript:alert(1)"), REDIRECTED, Reason.REDIRECT_INVALID),
    "redirect-to-90-kb": Evil(moves(lambda path: "/" + "x" * 90_000), REDIRECTED, Reason.REDIRECT_OUT_OF_SCOPE),
    "redirect-that-grows": Evil(moves(lambda path: f"{path}/x" if path != "/" else "/x"), REDIRECTED, requests=4),
    # pages
    "links-of-10-mb": Evil(_links, VISITED, settings=LINKS_SETTINGS, requests=50),
    "charset-unknown": Evil(page(PAGE, "Content-Type: text/html; charset=klingon"), VISITED),
    "charset-utf-16": Evil(page(PAGE * 99, "Content-Type: text/html; charset=utf-16"), VISITED),
    "charset-utf-7": Evil(page(b"+ADw-script+AD4-", "Content-Type: text/html; charset=utf-7"), VISITED),
    "charset-iso-2022-jp": Evil(page(b"\x1b$B" * 999, "Content-Type: text/html; charset=iso-2022-jp"), VISITED),
    "charset-long": Evil(page(PAGE, "Content-Type: text/html; charset=" + "x" * 9999), VISITED),
    "charset-binary": Evil(page(bytes(range(256)) * 999, "Content-Type: text/html; charset=utf-8"), VISITED),
    "charset-in-page": Evil(page(b"<meta charset=utf-16le>" + PAGE, HTML), VISITED),
    "type-image": Evil(page(PAGE, "Content-Type: image/png"), VISITED),
    "type-png-as-html": Evil(page(b"\x89PNG\r\n\x1a\n" + bytes(5000), HTML), VISITED),
    "type-zip-as-html": Evil(page(b"PK\x03\x04" + bytes(range(256)) * 20, HTML), VISITED),
    "type-garbage": Evil(page(PAGE, "Content-Type: \xff;;;=,\x01"), VISITED),
    "type-none": Evil(page(PAGE, "X-Nothing: 1"), VISITED),
    "type-twice": Evil(page(PAGE, "Content-Type: text/plain", HTML), VISITED),
    # robots.txt
    "robots-huge": Evil(LOOSE, VISITED, robots=page(b"Disallow: /x\n" * 1_000_000, "Content-Type: text/plain")),
    "robots-without-end": Evil(
        LOOSE, VISITED, robots=floods(OK_HEAD + b"\r\n", b"User-agent: *\nDisallow: /x\n" * 999)
    ),
    "robots-one-line": Evil(LOOSE, VISITED, robots=floods(OK_HEAD + b"\r\nUser-agent: *\nDisallow: /")),
    "robots-stars": Evil(LOOSE, VISITED, robots=page(b"User-agent: *\n" + b"Disallow: /" + b"*x" * 1000 + b"$\n")),
    "robots-html": Evil(LOOSE, VISITED, robots=page(b"<!doctype html><p>Disallow: /\n" * 99)),
    "robots-binary": Evil(LOOSE, VISITED, robots=page(bytes(range(256)) * 999)),
    "robots-loop": Evil(LOOSE, VISITED, robots=moves(lambda path: ROBOTS)),
    "robots-bomb": Evil(LOOSE, VISITED, robots=explodes("gzip")),
    "robots-drips": Evil(
        LOOSE,
        EXCLUDED,
        Reason.ROBOTS_UNREACHABLE,
        robots=lambda connection, path: _after(connection, OK_HEAD + b"\r\n", b"#"),
        requests=0,
        hurried=True,
    ),
    "robots-silent": Evil(LOOSE, EXCLUDED, Reason.ROBOTS_UNREACHABLE, robots=hangs(), requests=0, hurried=True),
    "robots-reset": Evil(LOOSE, EXCLUDED, Reason.ROBOTS_UNREACHABLE, robots=resets(), requests=0),
    "robots-garbage": Evil(LOOSE, EXCLUDED, Reason.ROBOTS_UNREACHABLE, robots=says(b"\0\r\n\r\n"), requests=0),
    "robots-head-without-end": Evil(
        LOOSE, EXCLUDED, Reason.ROBOTS_UNREACHABLE, robots=floods(OK_HEAD, b"A: b\r\n" * 999), requests=0
    ),
}


async def _after(connection: Connection, head: bytes, then: bytes) -> None:
    """A whole head at once, then one byte at a time without end."""
    await connection.send(head)
    await connection.drip(b"", then)


def host_of(case: str) -> str:
    return f"{case}.{DOMAIN}"


def address_of(case: str) -> str:
    number = list(EVIL).index(case)
    return f"127.0.{2 + number // 200}.{1 + number % 200}"


def url_of(case: str, port: int) -> str:
    return f"{EVIL[case].scheme}://{host_of(case)}:{port}/"


RESOLVE = {host_of(case): address_of(case) for case in EVIL}


class EvilWeb:
    """The server of all cases, made inside the running loop."""

    def __init__(self, certificates: Path) -> None:
        self.sent: Counter[str] = Counter()  # bytes, by case
        self.requests: Counter[str] = Counter()  # of pages, by case
        self.robots: Counter[str] = Counter()
        self.open = 0
        self._by_address = {address_of(case): case for case in EVIL}
        self._contexts = {path.stem: _context(path) for path in certificates.glob("*.pem")}

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        case = self._by_address.get(writer.get_extra_info("sockname")[0], "")
        self.open += 1
        try:
            if case:
                await self._serve(Connection(reader, writer, self.sent, case), EVIL[case])
            else:
                writer.write(answer(json.dumps(self.report()).encode()))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client has gone
        finally:
            self.open -= 1
            writer.close()

    async def _serve(self, connection: Connection, evil: Evil) -> None:
        if evil.tls == "raw":
            await evil.serve(connection, "")
            return
        if evil.tls:
            await connection.writer.start_tls(self._contexts[evil.tls])
        while True:
            head = await connection.reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode("latin-1")
            (self.robots if path == ROBOTS else self.requests)[connection.case] += 1
            if path == ROBOTS and evil.robots is None:
                await connection.send(NOT_FOUND)
                continue
            await (evil.robots if path == ROBOTS and evil.robots else evil.serve)(connection, path)
            break

    def report(self) -> dict[str, Any]:
        counts = {"sent": self.sent, "requests": self.requests, "robots": self.robots}
        return {"open": self.open - 1, **counts}


def _context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def serve_until_killed(folder: Path) -> None:
    make_certificates(folder, DOMAIN)
    web = EvilWeb(folder)
    server = await asyncio.start_server(web.accept, "0.0.0.0", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()
