"""The fetcher against real servers on loopback that behave as servers do: well, badly and not at all."""

import asyncio
import gzip
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvloop

from nephila.clock import SystemClock
from nephila.fetch import fetcher as fetcher_module
from nephila.fetch.body import decode_body
from nephila.fetch.fetcher import Fetcher, FetchRequest, FetchResult
from nephila.fetch.resolver import Resolver
from nephila.models import Reason
from nephila.profiles import FetchSettings

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the .event_loop_policy")

AGENT = "Nephila/test (+https://example.com/bot)"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi"
Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    return uvloop.EventLoopPolicy()


@dataclass
class Site:
    """Answers each path with fixed bytes (and closes where they begin with CLOSE) or with a coroutine."""

    answers: dict[bytes, Answer] = field(default_factory=dict)
    heads: list[bytes] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    port: int = 0

    async def received(self, count: int) -> None:
        while len(self.heads) < count:
            self.arrived.clear()
            await self.arrived.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.arrived.set()
                answer = self.answers.get(head.split(b" ")[1], OK)
                if callable(answer):
                    await answer(reader, writer)
                    break
                writer.write(answer.removeprefix(b"CLOSE"))
                await writer.drain()
                if answer.startswith(b"CLOSE"):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    clock = SystemClock()
    resolver = Resolver(clock, fixed={"site.test": "127.0.0.1", "other.test": "127.0.0.1", "dead.test": "127.0.0.9"})
    fetcher = Fetcher(clock, resolver)
    yield fetcher
    await fetcher.close()
    await resolver.close()


SETTINGS = FetchSettings(allow_private=True, total_timeout_ms=2000)
GUARDED = FetchSettings(total_timeout_ms=2000)


async def get(fetcher: Fetcher, url: str, settings: FetchSettings = SETTINGS, **more: object) -> FetchResult:
    return await fetcher.fetch(FetchRequest(url, settings, AGENT, **more))  # type: ignore[arg-type]


def answer(*lines: bytes, body: bytes = b"", close: bool = False) -> bytes:
    return (b"CLOSE" if close else b"") + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


async def test_a_page_arrives_as_it_was_sent(site: Site, fetcher: Fetcher) -> None:
    result = await get(fetcher, site.url("/a?b=c#frag", "site.test"))
    assert (result.status, result.error, result.truncated, result.protocol) == (200, Reason.NONE, None, "http/1.1")
    assert result.header_bytes + result.body == OK
    assert result.header("content-LENGTH") == "2"
    assert result.headers() == [("Content-Type", "text/html"), ("Content-Length", "2")]
    assert result.ip == "127.0.0.1"
    assert result.started_at > 1_600_000_000_000
    assert 0 < result.timing.connect_ms <= result.timing.total_ms
    assert 0 < result.timing.first_byte_ms <= result.timing.total_ms


@pytest.mark.requirement("W-02", "W-03")
@pytest.mark.parametrize(
    "path",
    ["/", "/a/%7e;x//|[]^?", "/p?x=[|]'&y=%20%C3%BC", "/a/..%2f/b", "/?", "?q=1", "/é ü?ö=ß", "/x#frag", "//double//"],
)
async def test_request_bytes_are_what_the_server_received(site: Site, fetcher: Fetcher, path: str) -> None:
    settings = FetchSettings(
        allow_private=True,
        headers=(("X-Crawl", "1"), ("Accept-Language", "de"), ("X-Empty", ""), ("Host", "evil.test")),
    )
    for host in ("site.test", "127.0.0.1"):
        result = await get(fetcher, site.url(path, host), settings, headers=(("If-None-Match", '"e\r\nX-Evil: 1"'),))
        assert result.status == 200, result.detail
        assert result.request_bytes == site.heads[-1]
    head = site.heads[-1].decode()
    assert f"User-Agent: {AGENT}\r\nAccept: text/html" in head
    assert "Accept-Language: de\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nX-Crawl: 1\r\nX-Empty:\r\n" in head
    assert "evil.test" not in head
    assert "\r\nX-Evil" not in head


async def test_further_headers_of_one_request_do_not_stay(site: Site, fetcher: Fetcher) -> None:
    first = await get(fetcher, site.url(), headers=(("If-Modified-Since", "x"),))
    second = await get(fetcher, site.url())
    assert [first.request_bytes, second.request_bytes] == site.heads
    assert b"If-Modified-Since" not in site.heads[1]


async def test_credentials_are_never_sent(site: Site, fetcher: Fetcher) -> None:
    result = await get(fetcher, f"http://user:secret@127.0.0.1:{site.port}/")
    assert result.status == 200
    assert b"Authorization" not in site.heads[0]


async def test_the_environment_names_no_proxy(site: Site, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await get(fetcher, site.url())).status == 200


async def test_connections_are_reused_per_host(site: Site, fetcher: Fetcher) -> None:
    for number in range(5):
        assert (await get(fetcher, site.url(f"/{number}", "site.test"))).status == 200
    assert site.connections == 1
    await get(fetcher, site.url("/", "other.test"))
    assert site.connections == 2, "another name never shares a connection, even at one address"


async def test_many_at_once(site: Site, fetcher: Fetcher) -> None:
    results = await asyncio.gather(*(get(fetcher, site.url(f"/{number}")) for number in range(100)))
    assert {result.status for result in results} == {200}
    assert sorted(result.request_bytes for result in results) == sorted(site.heads)


async def test_redirects_and_cookies_are_left_to_us(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/from"] = answer(b"HTTP/1.1 302 Found", b"Location: /to", b"Set-Cookie: a=b", b"Content-Length: 0")
    result = await get(fetcher, site.url("/from"))
    assert (result.status, result.header("location")) == (302, "/to")
    await get(fetcher, site.url("/again"))
    assert len(site.heads) == 2
    assert b"Cookie" not in site.heads[1]


UNEVEN = {
    "garbage status line": (b"CLOSE!!! nonsense\r\n\r\n", Reason.PROTOCOL, None),
    "http 0.9": (b"CLOSE<html>old</html>", Reason.PROTOCOL, None),
    "nothing": (b"CLOSE", Reason.RESET, None),
    "no headers": (b"CLOSEHTTP/1.1 200 OK\r\n\r\nbody", Reason.NONE, None),
    "http 1.0": (b"CLOSEHTTP/1.0 200 OK\r\n\r\nbody", Reason.NONE, None),
    "bare line feeds": (b"CLOSEHTTP/1.1 200 OK\nA: b\n\nbody", Reason.NONE, None),
    "head cut short": (b"CLOSEHTTP/1.1 200 OK\r\nA: b\r\n", Reason.RESET, None),
    "null in header": (answer(b"HTTP/1.1 200 OK", b"A: b\0c", b"Content-Length: 0"), Reason.PROTOCOL, None),
    "65k header line": (answer(b"HTTP/1.1 200 OK", b"A: " + b"x" * 65_000, b"Content-Length: 0"), Reason.NONE, None),
    "110k header line": (
        answer(b"HTTP/1.1 200 OK", b"A: " + b"x" * 110_000, close=True),
        Reason.HEADERS_TOO_LONG,
        None,
    ),
    "headers over the limit": (
        answer(b"HTTP/1.1 200 OK", *(b"A%d: %s" % (n, b"x" * 1000) for n in range(140)), close=True),
        Reason.HEADERS_TOO_LONG,
        None,
    ),
    "header bomb": (
        answer(b"HTTP/1.1 200 OK", *(b"A%d: %s" % (n, b"x" * 90_000) for n in range(20)), close=True),
        Reason.HEADERS_TOO_LONG,
        None,
    ),
    "length too long": (
        answer(b"HTTP/1.1 200 OK", b"Content-Length: 100", body=b"short", close=True),
        Reason.NONE,
        "disconnect",
    ),
    "length too short": (answer(b"HTTP/1.1 200 OK", b"Content-Length: 2", body=b"longer"), Reason.NONE, None),
    "chunked": (
        answer(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=b"2\r\nhi\r\n0\r\n\r\n"),
        Reason.NONE,
        None,
    ),
    "chunked without end": (
        answer(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=b"2\r\nhi\r\n", close=True),
        Reason.NONE,
        "disconnect",
    ),
    "chunked garbage": (
        answer(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=b"2\r\nhi\r\nzz\r\n?", close=True),
        Reason.NONE,
        "disconnect",
    ),
    "gzip cut short": (
        answer(b"HTTP/1.1 200 OK", b"Content-Encoding: gzip", body=gzip.compress(b"x" * 99)[:-9], close=True),
        Reason.NONE,
        None,
    ),
    "early hints": (
        answer(b"HTTP/1.1 100 Continue") + answer(b"HTTP/1.1 103 Early Hints", b"Link: </a>") + OK,
        Reason.NONE,
        None,
    ),
    "204": (answer(b"HTTP/1.1 204 No Content"), Reason.NONE, None),
    "304 with a length": (answer(b"HTTP/1.1 304 Not Modified", b"Content-Length: 50"), Reason.NONE, None),
    "two lengths": (
        answer(b"HTTP/1.1 200 OK", b"Content-Length: 2", b"Content-Length: 3", body=b"abc", close=True),
        Reason.PROTOCOL,
        None,
    ),
    "bad length": (answer(b"HTTP/1.1 200 OK", b"Content-Length: -5", body=b"abc", close=True), Reason.PROTOCOL, None),
    "status 999": (answer(b"HTTP/1.1 999 Odd", b"Content-Length: 0"), Reason.NONE, None),
}


@pytest.mark.requirement("R-11", "R-22")
@pytest.mark.parametrize("name", UNEVEN)
async def test_uneven_servers(site: Site, fetcher: Fetcher, name: str) -> None:
    sent, error, truncated = UNEVEN[name]
    site.answers[b"/odd"] = sent
    result = await get(fetcher, site.url("/odd"))
    assert (result.error, result.truncated) == (error, truncated), result
    if error is Reason.NONE:
        received = result.header_bytes + result.body
        assert received in sent
        assert not result.header_bytes.startswith(b"HTTP/1.1 1")
        decode_body(result.headers(), result.body, 1000)
    else:
        assert result.status is None
        assert result.detail
    assert (await get(fetcher, site.url("/good"))).status == 200, "one bad answer harms no other"


async def test_chunked_bodies_arrive_raw(site: Site, fetcher: Fetcher) -> None:
    wire = b"2;ext=1\r\nhi\r\n3\r\n yo\r\n0\r\nTrailer: x\r\n\r\n"
    site.answers[b"/"] = answer(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=wire)
    result = await get(fetcher, site.url())
    assert result.body == wire
    assert decode_body(result.headers(), result.body, 99).body == b"hi yo"
    assert (await get(fetcher, site.url())).status == 200
    assert site.connections == 1, "the end of a chunked body is seen, so the connection is reused"


async def endless_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def drip_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def reset_in_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def test_endless_headers_end(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = endless_headers
    assert (await get(fetcher, site.url())).error is Reason.HEADERS_TOO_LONG


async def test_a_reset_in_the_body_keeps_what_came(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = reset_in_body
    result = await get(fetcher, site.url())
    assert (result.status, result.body, result.truncated, result.error) == (200, b"half", "disconnect", Reason.NONE)


@pytest.mark.requirement("W-04", "W-05", "W-21")
async def test_the_total_deadline_keeps_what_came(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = drip
    result = await get(fetcher, site.url(), total_timeout_ms=200)
    assert (result.status, result.truncated, result.error) == (200, "time", Reason.NONE)
    assert 0 < len(result.body) < 1000
    assert 190 <= result.timing.total_ms < 400


@pytest.mark.requirement("W-05")
async def test_a_head_that_never_ends_is_a_timeout(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = drip_headers
    result = await get(fetcher, site.url(), total_timeout_ms=150)
    assert (result.status, result.error) == (None, Reason.TIMEOUT)


@pytest.mark.requirement("W-05")
async def test_first_byte_deadline(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = silence
    result = await get(fetcher, site.url(), FetchSettings(allow_private=True, first_byte_timeout_ms=100))
    assert (result.error, result.detail) == (Reason.TIMEOUT, "first byte deadline passed")
    assert result.timing.total_ms < 400


@pytest.mark.requirement("W-05")
async def test_tls_deadline(site: Site, fetcher: Fetcher) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(mute, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    result = await get(fetcher, url, FetchSettings(allow_private=True, tls_timeout_ms=100))
    server.close()
    assert (result.error, result.detail) == (Reason.TIMEOUT, "tls deadline passed")


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port whose backlog is full: the kernel drops every further SYN."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    clients = [socket.socket() for _ in range(4)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
    yield listener.getsockname()[1]
    for each in (*clients, listener):
        each.close()


@pytest.mark.requirement("W-05")
async def test_connect_deadline(fetcher: Fetcher, full_port: int) -> None:
    settings = FetchSettings(allow_private=True, connect_timeout_ms=100)
    result = await get(fetcher, f"http://127.0.0.1:{full_port}/", settings)
    assert (result.error, result.detail) == (Reason.TIMEOUT, "connect deadline passed")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://dead.test:1/", "http://255.255.255.255/"])
async def test_no_connection(fetcher: Fetcher, url: str) -> None:
    result = await get(fetcher, url)
    assert (result.error, result.status) == (Reason.CONNECT, None)
    assert result.ip


async def test_the_next_address_is_tried_when_one_refuses(site: Site, fetcher: Fetcher) -> None:
    answer = await fetcher._resolver.resolve("localhost")
    assert answer.addresses[0] == "127.0.0.1", "IPv4 is preferred"
    resolver = Resolver(SystemClock())
    resolver._keep("both.test", type(answer)(("127.0.0.77", "127.0.0.1")))
    fetcher._resolver = resolver
    result = await get(fetcher, site.url("/", "both.test"))
    assert (result.status, result.ip) == (200, "127.0.0.1")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "nonsense", "http://\ud800/", "http://[::1", "http://a b/", ""])
async def test_what_is_no_url(fetcher: Fetcher, url: str) -> None:
    assert (await get(fetcher, url)).error is Reason.PROTOCOL


async def test_the_body_limit_cuts_exactly(site: Site, fetcher: Fetcher) -> None:
    body = bytes(range(256)) * 400
    site.answers[b"/"] = answer(b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), body=body)
    cut = await get(fetcher, site.url(), body_bytes_max=50_001)
    assert (cut.status, cut.truncated, cut.error) == (200, "length", Reason.NONE)
    assert cut.body == body[:50_001]
    whole = await get(fetcher, site.url(), body_bytes_max=len(body))
    assert (whole.truncated, whole.body) == (None, body)


@pytest.mark.parametrize("path", ["/", "/dripping"])
async def test_the_guard_refuses_before_a_connection(site: Site, fetcher: Fetcher, path: str) -> None:
    for host in ("127.0.0.1", "site.test", "localhost", "2130706433", "[::ffff:127.0.0.1]"):
        result = await get(fetcher, site.url(path, host), GUARDED)
        assert (result.error, result.status) == (Reason.PRIVATE_ADDRESS, None), host
        assert "loopback" in result.detail or "mapped" in result.detail
    assert site.connections == 0


async def test_the_guard_has_the_last_word_at_connect_time(
    site: Site, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetcher_module, "permitted", lambda answer, allow_private: answer.addresses)
    result = await get(fetcher, site.url("/", "site.test"), GUARDED)
    assert (result.error, result.detail) == (Reason.PRIVATE_ADDRESS, "127.0.0.1 is loopback")
    assert site.connections == 0


async def test_a_connection_without_guard_is_not_reused_with_it(
    site: Site, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await get(fetcher, site.url("/", "site.test"))).status == 200
    monkeypatch.setattr(fetcher_module, "permitted", lambda answer, allow_private: answer.addresses)
    assert (await get(fetcher, site.url("/", "site.test"), GUARDED)).error is Reason.PRIVATE_ADDRESS
    assert len(site.heads) == 1


async def test_abort_ends_everything_in_flight(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = silence
    site.answers[b"/drip"] = drip
    tasks = [asyncio.create_task(get(fetcher, site.url(path))) for path in ("/", "/drip", "/")]
    await site.received(3)
    fetcher.abort()
    for result in await asyncio.gather(*tasks):
        assert (result.error, result.detail, result.status) == (Reason.RESET, "aborted", None)
    assert (await get(fetcher, site.url("/good"))).status == 200


async def test_abort_ends_a_name_look_up(fetcher: Fetcher) -> None:
    mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mute.bind(("127.0.0.1", 0))
    fetcher._resolver = Resolver(SystemClock(), servers=[f"127.0.0.1:{mute.getsockname()[1]}"])
    task = asyncio.create_task(get(fetcher, "http://slow.test/"))
    late = await get(fetcher, "http://slow.test/", total_timeout_ms=50)
    assert (late.error, late.detail) == (Reason.TIMEOUT, "dns deadline passed")
    assert late.timing.dns_ms >= 40
    fetcher.abort()
    assert (await task).detail == "aborted"
    await fetcher._resolver.close()
    mute.close()


async def test_a_cancelled_fetch_leaves_nothing_behind(site: Site, fetcher: Fetcher) -> None:
    site.answers[b"/"] = silence
    task = asyncio.create_task(get(fetcher, site.url()))
    await site.received(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(pool._inflight for pool in fetcher._pools.values())
    assert (await get(fetcher, site.url("/good"))).status == 200


async def test_an_http_proxy_sees_the_absolute_url(site: Site, fetcher: Fetcher) -> None:
    settings = FetchSettings(proxy=f"http://user:secret@127.0.0.1:{site.port}")
    result = await get(fetcher, "http://far.test/%7ea?b", settings)
    assert (result.status, result.ip) == (200, None)
    assert site.heads[0].startswith(b"GET http://far.test/%7ea?b HTTP/1.1\r\nHost: far.test\r\n")
    assert b"secret" not in result.request_bytes
    guarded = await get(fetcher, "http://169.254.169.254/", settings)
    assert guarded.error is Reason.PRIVATE_ADDRESS


async def test_a_proxy_that_fails(site: Site, fetcher: Fetcher) -> None:
    dead = await get(fetcher, "http://far.test/", FetchSettings(proxy="http://127.0.0.1:1"))
    assert dead.error is Reason.PROXY
    site.answers[b"far.test:443"] = answer(b"HTTP/1.1 403 No", b"Content-Length: 0", close=True)
    refusing = await get(fetcher, "https://far.test/", FetchSettings(proxy=f"http://127.0.0.1:{site.port}"))
    assert (refusing.error, refusing.status) == (Reason.PROXY, None)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=secure.test"
        f" -addext subjectAltName=DNS:secure.test -keyout {file}.key -out {file}.crt".split(),
        check=True,
        capture_output=True,
    )
    file.write_bytes(Path(f"{file}.crt").read_bytes() + Path(f"{file}.key").read_bytes())
    return file


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


async def speak_h2(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Just enough HTTP/2: each HEADERS frame is answered with 200, a header from outside the tables, and a body."""
    await reader.readexactly(24)
    writer.write(frame(4, 0, 0))
    while True:
        head = await reader.readexactly(9)
        await reader.readexactly(int.from_bytes(head[:3], "big"))
        if head[3] == 4 and not head[4] & 1:
            writer.write(frame(4, 1, 0))
        elif head[3] == 1:
            stream = int.from_bytes(head[5:], "big")
            writer.write(frame(1, 4, stream, b"\x88\x00\x06x-kind\x02h2") + frame(0, 1, stream, b"two"))


@dataclass
class SecureSite(Site):
    protocols: list[str | None] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        self.protocols.append(chosen)
        if chosen != "h2":
            await super().serve(reader, writer)
            return
        self.connections += 1
        try:
            await speak_h2(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[SecureSite]:
    site = SecureSite()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    context.sni_callback = lambda _socket, name, _context: site.names.append(name)  # type: ignore[assignment]
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()


def trusting(certificate: Path) -> Fetcher:
    clock = SystemClock()
    return Fetcher(
        clock, Resolver(clock, fixed={"secure.test": "127.0.0.1", "wrong.test": "127.0.0.1"}), ca_file=str(certificate)
    )


@pytest.mark.parametrize(("http2", "protocol", "body"), [(True, "h2", b"two"), (False, "http/1.1", b"hi")])
async def test_tls_and_http2(secure: SecureSite, certificate: Path, http2: bool, protocol: str, body: bytes) -> None:
    fetcher = trusting(certificate)
    settings = FetchSettings(allow_private=True, http2=http2, total_timeout_ms=2000)
    for _ in range(3):
        result = await get(fetcher, f"https://secure.test:{secure.port}/", settings)
        assert (result.status, result.protocol, result.body) == (200, protocol, body), result
    assert (secure.connections, secure.protocols, secure.names) == (1, [protocol], ["secure.test"])
    if http2:
        assert result.header_bytes == b"HTTP/2 200 \r\nx-kind: h2\r\n\r\n"
        assert result.request_bytes.startswith(b"GET / HTTP/2\r\nHost: secure.test:")
    assert result.timing.total_ms > 0
    await fetcher.close()


async def test_http2_requests_share_a_connection(secure: SecureSite, certificate: Path) -> None:
    fetcher = trusting(certificate)
    await get(fetcher, f"https://secure.test:{secure.port}/")
    results = await asyncio.gather(*(get(fetcher, f"https://secure.test:{secure.port}/{n}") for n in range(20)))
    assert {(result.status, result.body) for result in results} == {(200, b"two")}
    assert secure.connections == 1
    await fetcher.close()


async def test_tls_is_verified(secure: SecureSite, certificate: Path, fetcher: Fetcher) -> None:
    async def talk_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    plain = await asyncio.start_server(talk_plainly, "127.0.0.1", 0)
    trusted = trusting(certificate)
    wrong_name = await get(trusted, f"https://wrong.test:{secure.port}/")
    unknown_issuer = await get(fetcher, f"https://site.test:{secure.port}/")
    no_tls = await get(trusted, f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/")
    assert {each.error for each in (wrong_name, unknown_issuer, no_tls)} == {Reason.TLS}
    assert not secure.heads
    plain.close()
    await trusted.close()


async def test_timing_has_a_tls_phase(secure: SecureSite, certificate: Path) -> None:
    fetcher = trusting(certificate)
    timing = (await get(fetcher, f"https://secure.test:{secure.port}/")).timing
    assert timing.tls_ms > 0
    assert timing.connect_ms + timing.tls_ms + timing.first_byte_ms <= timing.total_ms
    await fetcher.close()
