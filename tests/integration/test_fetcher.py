"""What is libcurl's alone (tests/contract/test_fetcher.py has what every fetcher does): heads, reuse, TLS."""

import asyncio
import errno
import os
import resource
import shutil
import socket
import ssl
import subprocess
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvloop

from nephila.clock import SystemClock
from nephila.fetch import curl as curl_module
from nephila.fetch.curl import CurlFetcher
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.plan import plan_of
from nephila.fetch.resolver import Resolver
from nephila.fetch.tls_sessions import LOOK_AFTER_MS, TlsSessions
from nephila.fetch.wire import READ_BYTES, Wire
from nephila.models import Handshake, Reason
from nephila.profiles import FetchSettings
from tests.patience import PATIENCE_MS
from tests.site.raw import OK, RawSite, raw_site, silence

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the .event_loop_policy")

AGENT = "Nephila/test (+https://example.com/bot)"


@pytest.fixture
def event_loop_policy() -> asyncio.AbstractEventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def site() -> AsyncIterator[RawSite]:
    async with raw_site() as site:
        yield site


@pytest.fixture
async def fetcher() -> AsyncIterator[CurlFetcher]:
    clock = SystemClock()
    resolver = Resolver(clock, fixed={"site.test": "127.0.0.1", "other.test": "127.0.0.1"})
    fetcher = CurlFetcher(clock, resolver)
    yield fetcher
    await fetcher.close()
    await resolver.close()


SETTINGS = FetchSettings(allow_private=True, total_timeout_ms=PATIENCE_MS)
GUARDED = FetchSettings(total_timeout_ms=PATIENCE_MS)


async def get(fetcher: CurlFetcher, url: str, settings: FetchSettings = SETTINGS, **more: object) -> FetchResult:
    return await fetcher.fetch(FetchRequest(url, settings, AGENT, **more))  # type: ignore[arg-type]


@pytest.mark.requirement("W-02", "W-03")
@pytest.mark.parametrize(
    "path",
    ["/", "/a/%7e;x//|[]^?", "/p?x=[|]'&y=%20%C3%BC", "/a/..%2f/b", "/?", "?q=1", "/é ü?ö=ß", "/x#frag", "//double//"],
)
async def test_request_bytes_are_what_the_server_received(site: RawSite, fetcher: CurlFetcher, path: str) -> None:
    settings = FetchSettings(
        allow_private=True,
        headers=(("X-Crawl", "1"), ("Accept-Language", "de"), ("X-Empty", ""), ("Host", "evil.test")),
    )
    for host in ("site.test", "127.0.0.1"):
        result = await get(fetcher, site.url(path, host), settings, headers=(("If-None-Match", '"e\r\nX-Evil: 1"'),))
        assert result.status == 200, result.detail
        # Whatever may be a secret is sent and not archived.
        assert result.request_bytes == site.heads[-1].replace(b"X-Crawl: 1", b"X-Crawl: (redacted)")
    head = site.heads[-1].decode()
    assert f"User-Agent: {AGENT}\r\nAccept: text/html" in head
    assert "Accept-Language: de\r\nAccept-Encoding: gzip, deflate, br\r\nX-Crawl: 1\r\nX-Empty:\r\n" in head
    assert "evil.test" not in head
    assert "\r\nX-Evil" not in head


async def test_the_environment_names_no_proxy(
    site: RawSite, fetcher: CurlFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await get(fetcher, site.url())).status == 200


async def test_connections_are_reused_per_host(site: RawSite, fetcher: CurlFetcher) -> None:
    for number in range(5):
        assert (await get(fetcher, site.url(f"/{number}", "site.test"))).status == 200
    assert site.connections == 1
    await get(fetcher, site.url("/", "other.test"))
    assert site.connections == 2, "another name never shares a connection, even at one address"


async def endless_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        await writer.drain()


async def test_endless_headers_end(site: RawSite, fetcher: CurlFetcher) -> None:
    site.answers[b"/"] = endless_headers
    assert (await get(fetcher, site.url())).error is Reason.HEADERS_TOO_LONG


@pytest.mark.requirement("W-05", "K33")
async def test_first_byte_deadline(site: RawSite, fetcher: CurlFetcher) -> None:
    site.answers[b"/"] = silence
    result = await get(fetcher, site.url(), FetchSettings(allow_private=True, first_byte_timeout_ms=100))
    assert (result.error, result.detail) == (Reason.TIMEOUT, "first byte deadline passed")


@contextmanager
def no_file_left() -> Iterator[None]:
    """The process has as many files open as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(int(file.name) for file in Path("/proc/self/fd").iterdir()) + 1, hard)
    )
    try:
        with suppress(OSError):
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("host", ["127.0.0.2", "never-asked-for.test"], ids=["socket", "look-up"])
async def test_a_lack_of_files_is_ours(site: RawSite, fetcher: CurlFetcher, host: str) -> None:
    await get(fetcher, site.url())
    with no_file_left():
        lacking = await get(fetcher, f"http://{host}:{site.port}/")
    assert (lacking.lacking, lacking.aborted, lacking.status) == ("open files (ulimit -n)", True, None)
    assert (await get(fetcher, site.url())).status == 200


@pytest.mark.requirement("W-04", "W-21", "K33")
async def test_the_total_deadline_is_that_of_the_crawl(site: RawSite, fetcher: CurlFetcher) -> None:
    site.answers[b"/"] = silence
    result = await get(fetcher, site.url(), FetchSettings(allow_private=True, total_timeout_ms=100))
    assert (result.status, result.error) == (None, Reason.TIMEOUT)
    assert "first byte" not in result.detail


async def test_an_address_family_that_this_machine_has_not_is_no_lack(
    fetcher: CurlFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row whose request could never be sent must end: only what may come back is waited for."""

    def refuse(*_: object) -> socket.socket:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr("nephila.fetch.wire.socket.socket", refuse)
    result = await get(fetcher, "http://127.0.0.1:9/")
    assert (result.error, result.lacking, result.aborted) == (Reason.CONNECT, "", False)


@pytest.mark.requirement("W-05", "K33")
async def test_tls_deadline(site: RawSite, fetcher: CurlFetcher) -> None:
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


@pytest.mark.requirement("W-05", "K33")
async def test_connect_deadline(fetcher: CurlFetcher, full_port: int) -> None:
    settings = FetchSettings(allow_private=True, connect_timeout_ms=100)
    result = await get(fetcher, f"http://127.0.0.1:{full_port}/", settings)
    assert (result.error, result.detail) == (Reason.TIMEOUT, "connect deadline passed")


async def test_the_next_address_is_tried_when_one_refuses(site: RawSite, fetcher: CurlFetcher) -> None:
    answer = await fetcher._resolver.resolve("localhost")
    assert answer.addresses[0] == "127.0.0.1", "IPv4 is preferred"
    resolver = Resolver(SystemClock())
    resolver._keep("both.test", type(answer)(("127.0.0.77", "127.0.0.1")))
    fetcher._resolver = resolver
    result = await get(fetcher, site.url("/", "both.test"))
    assert (result.status, result.ip) == (200, "127.0.0.1")


async def test_the_guard_has_the_last_word_at_connect_time(
    site: RawSite, fetcher: CurlFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curl_module, "permitted", lambda answer, plan: answer.addresses)
    result = await get(fetcher, site.url("/", "site.test"), GUARDED)
    assert (result.error, result.detail) == (Reason.PRIVATE_ADDRESS, "127.0.0.1 is loopback")
    assert site.connections == 0


async def test_a_connection_without_guard_is_not_reused_with_it(
    site: RawSite, fetcher: CurlFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await get(fetcher, site.url("/", "site.test"))).status == 200
    monkeypatch.setattr(curl_module, "permitted", lambda answer, plan: answer.addresses)
    assert (await get(fetcher, site.url("/", "site.test"), GUARDED)).error is Reason.PRIVATE_ADDRESS
    assert len(site.heads) == 1


async def test_a_cancelled_fetch_leaves_nothing_behind(site: RawSite, fetcher: CurlFetcher) -> None:
    site.answers[b"/"] = silence
    task = asyncio.create_task(get(fetcher, site.url()))
    await site.received(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(pool._inflight for pool in fetcher._pools.values())
    assert (await get(fetcher, site.url("/good"))).status == 200


def certified(folder: Path, key: str) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl: install the package openssl")
    file = folder / "both.pem"
    subprocess.run(
        f"openssl req -x509 -newkey {key} -nodes -days 2 -subj /CN=secure.test"
        f" -addext subjectAltName=DNS:secure.test,DNS:*.many.test -keyout {file}.key -out {file}.crt".split(),
        check=True,
        capture_output=True,
    )
    file.write_bytes(Path(f"{file}.crt").read_bytes() + Path(f"{file}.key").read_bytes())
    return file


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("tls"), "ec -pkeyopt ec_paramgen_curve:P-256")


@pytest.fixture(scope="session")
def rsa_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("rsa"), "rsa:2048")


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
class SecureSite(RawSite):
    protocols: list[str | None] = field(default_factory=list)
    resumed: int = 0  # handshakes
    names: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = writer.get_extra_info("ssl_object")
        chosen = tls.selected_alpn_protocol()
        self.protocols.append(chosen)
        self.resumed += tls.session_reused
        if chosen != "h2":
            await super().serve(reader, writer)
            return
        self.connections += 1
        try:
            await speak_h2(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def secure_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@asynccontextmanager
async def secure_site(context: ssl.SSLContext) -> AsyncIterator[SecureSite]:
    site = SecureSite()
    context.sni_callback = lambda _socket, name, _context: site.names.append(name)  # type: ignore[assignment]
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    yield site
    server.close()


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[SecureSite]:
    async with secure_site(secure_context(certificate)) as site:
        yield site


MANY = [f"{number}.many.test" for number in range(60)]  # more than libcurl remembers by itself


def trusting(certificate: Path, clock: SystemClock | None = None) -> CurlFetcher:
    clock = clock or SystemClock()
    fixed = dict.fromkeys(("secure.test", "wrong.test", *MANY), "127.0.0.1")
    return CurlFetcher(clock, Resolver(clock, fixed=fixed), ca_file=str(certificate))


@pytest.mark.parametrize(("http2", "protocol", "body"), [(True, "h2", b"two"), (False, "http/1.1", b"hi")])
async def test_tls_and_http2(secure: SecureSite, certificate: Path, http2: bool, protocol: str, body: bytes) -> None:
    fetcher = trusting(certificate)
    settings = FetchSettings(allow_private=True, http2=http2, total_timeout_ms=PATIENCE_MS)
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


async def test_tls_is_verified(secure: SecureSite, certificate: Path, fetcher: CurlFetcher) -> None:
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


async def test_a_tls_session_is_resumed_however_many_hosts_there_are(secure: SecureSite, certificate: Path) -> None:
    fetcher = trusting(certificate)
    settings = FetchSettings(allow_private=True, http2=False, total_timeout_ms=PATIENCE_MS)
    secure.answers[b"/"] = b"CLOSE" + OK.replace(b"Content-Type", b"Connection: close\r\nContent-Type")
    for resumed in (0, len(MANY)):
        for name in MANY:
            assert (await get(fetcher, f"https://{name}:{secure.port}/", settings)).status == 200
        assert secure.resumed == resumed
    assert secure.connections == 2 * len(MANY)
    await fetcher.close()


class LaterClock(SystemClock):
    """Stands still until the test sets it forward: a busy machine is no reason to look at a handshake."""

    later_ms = 1.0

    def tick_ms(self) -> float:
        return self.later_ms


HTTP1 = FetchSettings(allow_private=True, http2=False, total_timeout_ms=PATIENCE_MS)
CLOSING = b"CLOSE" + OK.replace(b"Content-Type", b"Connection: close\r\nContent-Type")


@pytest.mark.parametrize("kind", ["1.3", "1.2", "1.2, RSA encrypts the key"])
async def test_handshakes_are_told_apart(certificate: Path, rsa_certificate: Path, kind: str) -> None:
    own = rsa_certificate if "RSA" in kind else certificate
    context = secure_context(own)
    context.maximum_version = ssl.TLSVersion.TLSv1_3 if kind == "1.3" else ssl.TLSVersion.TLSv1_2
    if "RSA" in kind:
        context.set_ciphers("AES128-GCM-SHA256")
    clock = LaterClock()
    fetcher = trusting(own, clock)
    async with secure_site(context) as site:
        site.answers[b"/close"] = CLOSING

        async def handshake(path: str, *, later: bool = False) -> tuple[Handshake, bool]:
            """What we say of it, and whether the server has resumed a session."""
            clock.later_ms += (LOOK_AFTER_MS + 1) * later
            before = site.resumed
            result = await get(fetcher, f"https://secure.test:{site.port}{path}", HTTP1)
            assert result.status == 200, result
            assert bool(result.handshake) == bool(result.timing.tls_ms)
            return result.handshake, site.resumed > before

        assert await handshake("/close") == (Handshake.FULL, False)
        assert await handshake("/close") == (Handshake.UNKNOWN, True), "nobody looks so soon"
        assert await handshake("/close", later=True) == (Handshake.RESUMED, True)
        assert await handshake("/", later=True) == (Handshake.RESUMED, True)
        assert await handshake("/") == (Handshake.NONE, False), "the connection is open"
        assert await handshake("/", later=True) == (Handshake.NONE, False)
        assert site.connections == 4
    await fetcher.close()


@pytest.mark.parametrize("kind", ["1.3", "1.2, RSA encrypts the key"])
async def test_a_handshake_without_a_session_is_full(certificate: Path, rsa_certificate: Path, kind: str) -> None:
    """Each time another server listens at the port, which knows nothing of the sessions before."""
    own, clock, port = rsa_certificate if "RSA" in kind else certificate, LaterClock(), 0
    fetcher = trusting(own, clock)
    for _ in range(3):
        context = secure_context(own)
        if "RSA" in kind:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers("AES128-GCM-SHA256")
        site = SecureSite()
        site.answers[b"/"] = CLOSING
        server = await asyncio.start_server(site.serve, "127.0.0.1", port, ssl=context)
        port = server.sockets[0].getsockname()[1]
        result = await get(fetcher, f"https://secure.test:{port}/", HTTP1)
        assert (result.status, result.handshake, site.resumed) == (200, Handshake.FULL, 0), result
        server.close()
        await server.wait_closed()
        clock.later_ms += LOOK_AFTER_MS + 1
    await fetcher.close()


async def test_a_handshake_that_was_in_vain_is_none(
    secure: SecureSite, certificate: Path, rsa_certificate: Path
) -> None:
    """One handle sends them all; it is listened to from the third on."""
    clock = LaterClock()
    fetcher = trusting(certificate, clock)
    secure.answers[b"/"] = CLOSING
    told = []
    async with secure_site(secure_context(rsa_certificate)) as untrusted:
        for site in (secure, untrusted, untrusted, secure):
            result = await get(fetcher, f"https://secure.test:{site.port}/", HTTP1)
            told.append((result.error, result.handshake))
            clock.later_ms += LOOK_AFTER_MS + 1
    broken = (Reason.TLS, Handshake.NONE)
    assert told == [(Reason.NONE, Handshake.FULL), broken, broken, (Reason.NONE, Handshake.RESUMED)]
    await fetcher.close()


async def test_plain_requests_and_those_that_found_no_tls_have_no_handshake(site: RawSite, certificate: Path) -> None:
    fetcher = trusting(certificate)
    plain = await get(fetcher, site.url())
    refused = await get(fetcher, f"https://127.0.0.1:{site.port}/")
    assert (plain.handshake, refused.handshake, refused.status) == (Handshake.NONE, Handshake.NONE, None)
    await fetcher.close()


async def test_timing_has_a_tls_phase(secure: SecureSite, certificate: Path) -> None:
    fetcher = trusting(certificate)
    timing = (await get(fetcher, f"https://secure.test:{secure.port}/")).timing
    assert timing.tls_ms > 0
    assert timing.connect_ms + timing.tls_ms + timing.first_byte_ms <= timing.total_ms
    await fetcher.close()


def test_a_large_body_is_in_memory_once() -> None:
    wire = Wire(plan_of(SETTINGS, AGENT), "", TlsSessions())
    piece, wire.room = bytes(READ_BYTES), 100 * READ_BYTES
    tracemalloc.start()
    try:
        for _ in range(80):
            wire.write(bytes(bytearray(piece)))
        body = wire.body()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(body) == 80 * READ_BYTES
    assert peak < 1.6 * len(body), "a buffer that grows by an eighth, and the chunks that are not in it yet"
    wire.clear()
    assert wire.body() == b""
